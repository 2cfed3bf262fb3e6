"""A scene in words, as the tests of captions and sets read it."""

from __future__ import annotations

from core.scenes.world import ATTRIBUTES, Scene


def scene_graph(scene: Scene) -> dict:
    """The scene in words: objects with attributes, position and picture box, and all clear relations.

    Boxes are (left, top, right, bottom) as shares of the picture, in [0, 1].
    """
    objects = []
    for index, item in enumerate(scene.objects):
        left, bottom, right, top = scene.camera.outline(item)
        box = [(left + 1) / 2, (1 - top) / 2, (right + 1) / 2, (1 - bottom) / 2]
        attributes = {name: getattr(item, name) for name in ATTRIBUTES}
        objects.append(
            {"id": index, **attributes, "position": [item.x, item.y], "box": [round(b, 4) for b in box]}
        )
    relations = [{"subject": i, "relation": name, "object": j} for i, name, j in scene.clear_relations()]
    return {"objects": objects, "relations": relations}
