"""The training loop of networks: knows losses and parameters, not models.

`settings` say how to descend; `batching` puts sentences of near-equal length together; `schedules` and `optimisers`
make the rates and the updates; `steps` makes one of them without waiting for the device; `processes` lets several
processes act as one; `checkpoints`, `interrupts` and `journal` see to it that nothing is lost; `watch` decides when to
stop; `waiting` keeps threads from burning the time of others; `task` is what is trained; `loop` puts all that in order.
"""
