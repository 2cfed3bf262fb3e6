"""The binding ladder: at which step from pixels to matching does a two-tower model lose what belongs to what?

ladder.py     the rungs of a model on a set, judged and compared; reads what is right
_facts.py     what captions say of pictures, as facts read off the scenes; reads what is right
_towers.py    tokens and pooled vectors of both towers
_probes.py    linear probes, and the linear map between the towers
"""
