"""How the built-in models are made: `model_folder.pretrain(name, out)` writes a model folder from a seed (DESIGN 1).

recipes       RECIPES: every choice behind a model
families      the architectures: contrastive, blip, language, on what layers has for all of them
tokens        the tokenizer and the image processor that they share
loop, heads   training, and the auxiliary losses whose heads are thrown away
model_folder  what is written: weights, configuration, processor, log and model_card
"""
