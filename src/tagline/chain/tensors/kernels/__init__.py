"""Triton kernels of the engine, by stage; `tagline.chain.fused` calls them.

`scores` prepares, `sweeps` and `chunks` run along the chain, `counts` gathers gradients, `logs` redoes what
exponentials cannot hold, `best` finds labellings.
"""
