"""Triton kernels, by stage; `tagline.chain.tensors.fused` launches them.

`order` moves tokens to the front, `scores` prepares, `sweeps` and `chunks` run along the chain, `counts` gathers
gradients, `logs` redoes what exponentials cannot hold, `best` finds labellings.
"""
