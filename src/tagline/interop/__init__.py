"""Other tools' interfaces: names, files and command lines that their users know."""
