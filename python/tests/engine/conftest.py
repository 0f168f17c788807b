import pytest


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """A tiny Llama as a folder, with text.txt in it."""
    import tiny_folder

    return tiny_folder.write_tiny_folder(tmp_path_factory.mktemp("engine") / "tiny")


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A short run of retrieve()."""
    import sharpmax

    folder = tmp_path_factory.mktemp("engine") / "run"
    return sharpmax.retrieve(
        arms="paper", steps=60, sizes=[16, 64], sets_scale=0.02, normalizers=["softmax", "hard"], directory=folder
    )
