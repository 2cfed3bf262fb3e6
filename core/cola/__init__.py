"""Adaptation with labels: the six strategies of [Cola] on frozen or tuned encoders (METHODS 6).

    config.py     strategies, fusions, mixes, settings; free of torch
    bases.py      CLIP, SigLIP and FLAVA as features: pooled, patch tokens, word tokens
    fusion.py     how patches and words meet
    heads.py      the strategies as modules over those features
    material.py   queries and images to train on, and the batches of every mix
    training.py   the training loop as a generator
    jobs.py       a run as a description, and its execution; measures, and so reads what is right
    background.py a run in the run store
    cost.py       what adaptation costs elsewhere

A trained strategy is a scorer (core/scorers/cola_adapted.py). Labels come from training scene graphs alone.
"""
