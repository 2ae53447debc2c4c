"""The benchmark of the feature CRF, room by room.

`corpora` and `cases` say what is compared; `ours` and `rival` do the work, each measure in a process of its own
(`children`); `agreement` compares their answers; `training`, `tagging`, `scale` and `quality` make rows of it.
"""
