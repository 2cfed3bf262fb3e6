"""Adaptation with labels: the six strategies of [Cola] on frozen or tuned encoders ([Cola] 5).

    run.py            a run as a description, and its execution; measures, and so reads what is right
    forgetting.py     what adaptation costs elsewhere
    cost_process.py   the same in a process of its own
    table.py          the strategies beside each other
    tasks.py          what is trained and tested on, by name
    _queries.py       queries and relevance from scene graphs
    _training_data.py queries and images to train on, and the batches of every mix
    _training.py      the training loop as a generator

A trained strategy is a scorer (core/scorers/cola_adapted.py). Labels come from training scene graphs alone.
"""
