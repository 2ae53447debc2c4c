"""The training loop of networks: knows losses and parameters, not models.

`settings` say how to descend; `batching` puts sentences of near-equal length together; `schedules` and `optimisers`
make the rates and the updates; `steps` makes one of them without waiting for the device; `processes` lets several
processes act as one; `checkpoints` turns networks into the state of a run and back; `waiting` keeps threads from
burning the time of others; `task` is what is trained; `loop` is the algorithm that a run (`training.run`) follows.
"""
