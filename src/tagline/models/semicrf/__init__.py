"""`SemiCRF`: a CRF over segments, with features of whole segments beside those of tokens."""
