"""How the built-in models are made: `model_folder.pretrain(name, out)` writes a model folder from a seed (DESIGN 1).

_recipes        RECIPES: every choice behind a model
model_folder    what is written: weights, configuration, processor, log and `_model_card`
families        the architectures: `_contrastive`, `_blip`, `_language`, on what `_layers` has for all of them
_tokens         the tokenizer and the image processor that they share
_loop, _heads   training, and the auxiliary losses whose heads are thrown away
"""
