"""The built-in world: scenes of coloured solids, their images, captions and sets.

    world          Scene, SceneObject, Camera, Light: frozen, equal again after to_json; which relations are clear
    _sampler       one random scene
    _minimal_pairs a scene and the same scene with one property of two objects exchanged
    captions       Statement (the meaning), is_true_of a scene, and its text in fewer than 150 words
    render         scenes as images; SceneImage, the image of a group that is drawn when somebody opens it
    pictures       the pictures of many scenes, drawn once and kept on disk
    sets           SETS and their flattened variants FLAT: build, load
    retrieval      single-object queries over many scenes
    training_data  training scenes without any composition that is held out; images and captions of the built-in models

Scenes of different splits are disjoint by construction (`scene.noise % 4` is the split). Compositions in
HELD_OUT_COMBINATIONS (colour, shape) and HELD_OUT_PAIRS (colours) occur in no training scene.
"""
