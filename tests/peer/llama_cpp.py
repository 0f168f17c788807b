"""llama.cpp as a peer: the C functions which the package xllamacpp carries, called through ctypes. With
SHARPMAX_LLAMA_CPP, those of a folder with libllama*.so and the libraries beside it, such as the one that the npm package
node-llama-cpp installs: node_modules/@node-llama-cpp/linux-x64/bins/linux-x64. It has a build for every kind of
processor, of which llama.cpp takes the best.

The package has no header, and llama.cpp's structs change with its releases. So nothing here trusts an
offset: the default structs are taken whole, each field is found by the default values around it, and what
was set is then asked back (llama_n_ctx and its like) or read in the log of llama.cpp. A check that fails
raises LayoutError with a sentence: a peer of another shape is to be noticed, not suffered.

    with Model(path) as model, model.context(512, threads=1) as context:
        tokens = model.tokenize(b"Once upon a time")
        logits = context.logits(tokens)  # [token, vocabulary]
"""

import ctypes
import importlib.util
import os
import pathlib
import struct

import numpy

I32, U32, U64, POINTER = ctypes.c_int32, ctypes.c_uint32, ctypes.c_size_t, ctypes.c_void_p


class LlamaError(Exception):
    pass


class LayoutError(LlamaError):
    """This llama.cpp is not laid out as the one that this file was written for."""


class Whole(ctypes.Structure):
    """Room for any of the structs. One over 16 bytes comes back through a hidden pointer and goes out on
    the stack as the last argument, so that room beyond its end is never looked at."""

    _fields_ = [("words", I32 * 128)]

    def at(self, offset, kind):
        return struct.unpack_from("=" + kind, self, offset)[0]

    def put(self, offset, kind, value):
        struct.pack_into("=" + kind, self, offset, value)


class Batch(ctypes.Structure):
    _fields_ = [
        ("token_count", I32),
        ("token", ctypes.POINTER(I32)),
        ("embedding", POINTER),
        ("position", ctypes.POINTER(I32)),
        ("sequence_count", ctypes.POINTER(I32)),
        ("sequence", ctypes.POINTER(ctypes.POINTER(I32))),
        ("wants_logits", ctypes.POINTER(ctypes.c_int8)),
        ("room", I32 * 32),
    ]


Log = ctypes.CFUNCTYPE(None, I32, ctypes.c_char_p, POINTER)

SIGNATURES = {
    "llama_log_set": (None, Log, POINTER),
    "llama_backend_init": (None,),
    "llama_model_default_params": (Whole,),
    "llama_model_load_from_file": (POINTER, ctypes.c_char_p, Whole),
    "llama_model_free": (None, POINTER),
    "llama_model_get_vocab": (POINTER, POINTER),
    "llama_model_n_layer": (I32, POINTER),
    "llama_model_size": (ctypes.c_uint64, POINTER),
    "llama_vocab_n_tokens": (I32, POINTER),
    "llama_tokenize": (I32, POINTER, ctypes.c_char_p, I32, ctypes.POINTER(I32), I32, ctypes.c_bool, ctypes.c_bool),
    "llama_token_to_piece": (I32, POINTER, I32, ctypes.c_char_p, I32, I32, ctypes.c_bool),
    "llama_context_default_params": (Whole,),
    "llama_init_from_model": (POINTER, POINTER, Whole),
    "llama_free": (None, POINTER),
    "llama_n_ctx": (U32, POINTER),
    "llama_n_batch": (U32, POINTER),
    "llama_n_ubatch": (U32, POINTER),
    "llama_n_threads": (I32, POINTER),
    "llama_n_threads_batch": (I32, POINTER),
    "llama_get_memory": (POINTER, POINTER),
    "llama_memory_clear": (None, POINTER, ctypes.c_bool),
    "llama_memory_seq_rm": (ctypes.c_bool, POINTER, I32, I32, I32),
    "llama_memory_seq_pos_max": (I32, POINTER, I32),
    "llama_batch_init": (Batch, I32, I32, I32),
    "llama_batch_free": (None, Batch),
    "llama_decode": (I32, POINTER, Batch),
    "llama_synchronize": (None, POINTER),
    "llama_get_logits_ith": (ctypes.POINTER(ctypes.c_float), POINTER, I32),
}


def only_file(folder, pattern):
    files = sorted(pathlib.Path(folder).glob(pattern))
    if len(files) != 1:
        raise LlamaError(f"{folder} holds {len(files)} files named {pattern}, not 1")
    return str(files[0])


def packaged_functions():
    """Those of xllamacpp, in one file."""
    found = importlib.util.find_spec("xllamacpp")
    if found is None:
        raise LlamaError("the Python package xllamacpp is not installed")
    return ctypes.CDLL(only_file(pathlib.Path(found.origin).parent, "xllamacpp*.so"))


def functions_of(folder):
    """Those of a folder; take_kernels() then loads what they run on."""
    for pattern in ("libggml-base*.so*", "libggml.*so*"):
        ctypes.CDLL(only_file(folder, pattern), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(only_file(folder, "libllama.*so*"))


def take_kernels(folder):
    """Kernels are libraries of their own: all are offered, and llama.cpp takes the best for this processor."""
    load = ctypes.CDLL(only_file(folder, "libggml.*so*")).ggml_backend_load_all_from_path
    load.restype, load.argtypes = None, [ctypes.c_char_p]
    load(os.fsencode(folder))


def mapped_kernels():
    """The build that llama.cpp took among those of a folder, such as icelake; nothing if there was no choice."""
    maps = pathlib.Path("/proc/self/maps").read_text()
    return sorted(
        {line.rsplit("libggml-cpu-", 1)[1].split(".")[0] for line in maps.splitlines() if "libggml-cpu-" in line}
    )


class Library:
    """The functions, with what llama.cpp logged of late in `log`: it prints nothing."""

    def __init__(self):
        folder = os.environ.get("SHARPMAX_LLAMA_CPP")
        self.functions = functions_of(folder) if folder else packaged_functions()
        for name, (result, *arguments) in SIGNATURES.items():
            try:
                function = getattr(self.functions, name)
            except AttributeError:
                raise LayoutError(f"this llama.cpp has no function {name}") from None
            function.restype, function.argtypes = result, arguments
        self.log = []
        self.callback = Log(lambda level, text, data: self.log.append(text))  # kept: llama.cpp keeps a pointer to it
        self.functions.llama_log_set(self.callback, None)
        if folder:
            take_kernels(folder)
        self.functions.llama_backend_init()

    def logged(self):
        return b"".join(self.log).decode(errors="replace")

    def last_words(self):
        return " ".join(self.logged().split("\n")[-6:]).strip()


_library = []


def library():
    if not _library:
        _library.append(Library())
    return _library[0]


def require(holds, what):
    if not holds:
        raise LayoutError(f"this llama.cpp is laid out in a way unknown here: {what}")


def vocab_only_offset(defaults):
    """Among the switches at the end of llama_model_params only use_extra_bufts is on; before it stand
    vocab_only and check_tensors. Loading checks that it was the right one."""
    require(defaults.at(16, "i") == -1 and defaults.at(20, "i") == 1, "n_gpu_layers, split_mode are not -1, 1")
    switches = bytes(defaults)[64:80]
    require(switches.count(1) == 1 and switches.count(0) == 15, "not one switch of the model's is on by default")
    return 64 + switches.index(1) - 2


def context_offsets(defaults):
    """Where the fields of llama_context_params are that are set here."""
    words = list(defaults.words)
    require(words[:4] == [512, 2048, 512, 1], "n_ctx, n_batch, n_ubatch, n_seq_max are not 512, 2048, 512, 1")
    minus_ones = [at for at in range(4, 20) if words[at : at + 4] == [-1] * 4]
    require(len(minus_ones) == 1, "rope_scaling, pooling, attention and flash_attn are not four times -1 in one place")
    threads = [at for at in range(4, minus_ones[0]) if words[at] == words[at + 1] > 1]
    require(len(threads) == 1, "n_threads and n_threads_batch are not found before them")
    types = [at for at in range(minus_ones[0] + 4, 40) if words[at : at + 2] == [1, 1]]
    require(len(types) == 1, "type_k and type_v are not found as twice f16")
    names = {"n_ctx": 0, "n_batch": 1, "n_ubatch": 2, "n_threads": threads[0], "n_threads_batch": threads[0] + 1}
    names |= {"flash_attention": minus_ones[0] + 3, "type_k": types[0], "type_v": types[0] + 1}
    return {name: 4 * word for name, word in names.items()}


class Model:
    def __init__(self, path, vocab_only=False):
        self.handle = None
        self.library = library()
        self.call = self.library.functions
        parameters = self.call.llama_model_default_params()
        if vocab_only:
            parameters.put(vocab_only_offset(parameters), "?", True)
        self.library.log.clear()
        self.handle = self.call.llama_model_load_from_file(str(path).encode(), parameters)
        if not self.handle:
            raise LlamaError(f"llama.cpp does not load {path}: {self.library.last_words()}")
        skipped = "vocab only" in self.library.logged()
        require(skipped == vocab_only, "the switch taken for vocab_only does another thing")
        self.vocabulary = self.call.llama_model_get_vocab(self.handle)
        self.vocabulary_size = self.call.llama_vocab_n_tokens(self.vocabulary)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        if self.handle:
            self.call.llama_model_free(self.handle)
        self.handle = None

    def tokenize(self, text, special=False, add_special=False):
        """special: text such as <|im_start|> is read as that token. add_special: with the tokens that the
        model wants before and after a text."""
        room = len(text) + 8
        while True:
            tokens = (I32 * room)()
            count = self.call.llama_tokenize(self.vocabulary, text, len(text), tokens, room, add_special, special)
            if count >= 0:
                return list(tokens[:count])
            if -count <= room:
                raise LlamaError(f"llama.cpp cannot tokenize {len(text)} bytes: it answers {count}")
            room = -count

    def piece(self, token, special=True):
        """The bytes of one token."""
        room = 64
        while True:
            text = ctypes.create_string_buffer(room)
            count = self.call.llama_token_to_piece(self.vocabulary, token, text, room, 0, special)
            if count >= 0:
                return text.raw[:count]
            room = -count

    def context(self, length, **options):
        return Context(self, length, **options)


TYPES = {"f32": 0, "f16": 1}  # as GGUF numbers them
SWITCH = {None: -1, False: 0, True: 1}


class Context:
    """batch: how many tokens one step of a prompt takes. flash_attention: None leaves it to llama.cpp."""

    def __init__(self, model, length, batch=512, threads=1, flash_attention=None, cache="f16"):
        self.handle = self.batch = None
        self.model, self.call, self.batch_size = model, model.call, min(batch, length)
        wanted = {"n_ctx": length, "n_batch": self.batch_size, "n_ubatch": self.batch_size}
        wanted |= {"n_threads": threads, "n_threads_batch": threads}
        chosen = {"flash_attention": SWITCH[flash_attention], "type_k": TYPES[cache], "type_v": TYPES[cache]}
        parameters = self.call.llama_context_default_params()
        offsets = context_offsets(parameters)
        for name, value in (wanted | chosen).items():
            parameters.put(offsets[name], "i", value)
        model.library.log.clear()
        self.handle = self.call.llama_init_from_model(model.handle, parameters)
        if not self.handle:
            raise LlamaError(f"llama.cpp makes no context of {length} tokens: {model.library.last_words()}")
        try:
            self.check(wanted, flash_attention, cache)
            self.make_batch()
        except LlamaError:
            self.close()
            raise

    def check(self, wanted, flash_attention, cache):
        for name, value in wanted.items():
            found = getattr(self.call, "llama_" + name)(self.handle)
            rounded_up = name == "n_ctx" and 0 <= found - value < 256
            require(found == value or rounded_up, f"{name} was set to {value} and is {found}")
        log = self.model.library.logged()
        for part in ("K", "V"):
            require(f"{part} ({cache})" in log, f"the log does not say that the cache's {part} is {cache}")
        if flash_attention is not None:
            state = "enabled" if flash_attention else "disabled"
            said = [line.split("=")[1].strip() for line in log.split("\n") if "flash_attn " in line and "=" in line]
            require(said == [state], f"flash attention was to be {state} and the log says {said}")

    def make_batch(self):
        batch = self.call.llama_batch_init(self.batch_size, 0, 1)
        arrays = (batch.token, batch.position, batch.sequence_count, batch.sequence, batch.wants_logits)
        require(batch.token_count == 0 and not batch.embedding and all(arrays), "a new llama_batch of tokens")
        self.batch = batch

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        if self.batch is not None:
            self.call.llama_batch_free(self.batch)
        if self.handle:
            self.call.llama_free(self.handle)
        self.handle = self.batch = None

    def length(self):
        """How many tokens the cache holds."""
        return self.call.llama_memory_seq_pos_max(self.call.llama_get_memory(self.handle), 0) + 1

    def shorten(self, length):
        """Forgets every token but the first `length`."""
        memory = self.call.llama_get_memory(self.handle)
        if length == 0:
            self.call.llama_memory_clear(memory, False)
        else:
            self.call.llama_memory_seq_rm(memory, 0, length, -1)
        require(self.length() == length, f"a cache shortened to {length} tokens holds {self.length()}")

    def decode(self, tokens, wants_logits):
        """Appends at most a batch of tokens to those of the cache."""
        batch, start = self.batch, self.length()
        batch.token_count = len(tokens)
        for at, token in enumerate(tokens):
            batch.token[at], batch.position[at] = token, start + at
            batch.sequence_count[at], batch.sequence[at][0] = 1, 0
            batch.wants_logits[at] = wants_logits(at)
        status = self.call.llama_decode(self.handle, batch)
        if status != 0:
            raise LlamaError(f"llama_decode of {len(tokens)} tokens after {start} answers {status}")

    def logits(self, tokens, step=None):
        """[token, vocabulary] for tokens that follow those in the cache; step: so many at once (1: one by
        one, as in generating)."""
        found = numpy.empty((len(tokens), self.model.vocabulary_size), numpy.float32)
        step = step or self.batch_size
        for start in range(0, len(tokens), step):
            part = tokens[start : start + step]
            self.decode(part, lambda at: True)
            for at in range(len(part)):
                row = self.call.llama_get_logits_ith(self.handle, at)
                found[start + at] = numpy.ctypeslib.as_array(row, (self.model.vocabulary_size,))
        return found

    def read_prompt(self, tokens):
        """From an empty cache to the logits of the last token."""
        self.shorten(0)
        for start in range(0, len(tokens), self.batch_size):
            part = tokens[start : start + self.batch_size]
            last = len(part) - 1 if start + len(part) == len(tokens) else -1
            self.decode(part, lambda at: at == last)
        self.call.llama_synchronize(self.handle)

    def read_one_by_one(self, tokens):
        """As in generating: each to its logits, after those in the cache, which is then as before."""
        length = self.length()
        for token in tokens:
            self.decode([token], lambda at: True)
            self.call.llama_synchronize(self.handle)
        self.shorten(length)
