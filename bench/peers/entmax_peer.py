"""deep-spin/entmax, on scores written out in torch."""

from . import torch_written_out


def _sparsemax(torch, scores):
    import entmax

    return entmax.sparsemax(scores, dim=-1)


def _entmax15(torch, scores):
    import entmax

    return entmax.entmax15(scores, dim=-1)


class Peer(torch_written_out.Peer):
    name = "deep-spin/entmax"
    module = "entmax"
    references = {}

    def rules(self):
        return {"sparsemax": _sparsemax, "entmax15": _entmax15}
