"""What a run uses: callbacks, progress, the log, checkpoints, Ctrl-C."""
