"""seqeval's names on Tagline's reading of spans: change the import, keep the code and the numbers.

    from tagline.interop.seqeval.metrics import classification_report, f1_score     # was: from seqeval.metrics import …
    from tagline.interop.seqeval.scheme import IOB2                                 # was: from seqeval.scheme import …

Reports are equal to the byte, scores to the bit. `scheme` has the tag schemes of strict mode, `chunks` the reading of
the default mode, `metrics` the scores, `reporters` the table. docs/migrate/seqeval.md lists what differs.
"""
