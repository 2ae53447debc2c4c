"""What pictures are drawn with: spans in colour, tables for notebooks, figures, SVG. They know texts and numbers only.

`tagline.plots` has the public pictures. matplotlib (extra ``plot``) is imported when a figure is drawn.
"""
