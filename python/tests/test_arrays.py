"""What arrays the doors take, what they give back, and that they never write to what they were given."""

import numpy as np
import pytest
import sharpmax

torch = pytest.importorskip("torch")


def numpy_inputs(shape=(1, 2, 7, 16), dtype=np.float32, seed=1):
    random = np.random.default_rng(seed)
    return tuple(random.standard_normal(shape).astype(dtype) for _ in range(3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_numpy_in_numpy_out_of_the_same_type(dtype):
    out = sharpmax.attention(*numpy_inputs(dtype=dtype))
    assert isinstance(out, np.ndarray) and out.dtype == dtype and out.shape == (1, 2, 7, 16)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str)
def test_torch_in_torch_out_of_the_same_type(dtype):
    out = sharpmax.attention(*(torch.from_numpy(array).to(dtype) for array in numpy_inputs()))
    assert isinstance(out, torch.Tensor) and out.dtype == dtype


def test_numpy_and_torch_get_the_same_bits():
    arrays = numpy_inputs()
    assert np.array_equal(sharpmax.attention(*arrays), sharpmax.attention(*map(torch.from_numpy, arrays)).numpy())


def test_leading_dimensions_may_be_left_out():
    arrays = numpy_inputs((1, 1, 7, 16))
    whole = sharpmax.attention(*arrays)
    assert np.array_equal(sharpmax.attention(*(a[0] for a in arrays)), whole[0])
    assert np.array_equal(sharpmax.attention(*(a[0, 0] for a in arrays)), whole[0, 0])


def test_inputs_are_not_written_and_may_be_read_only():
    arrays = numpy_inputs()
    copies = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    out, stats = sharpmax.attention(*arrays, return_stats="all")
    sharpmax.attention_backward(out, *arrays, saved=(out, stats))
    assert all(np.array_equal(array, copy) for array, copy in zip(arrays, copies))


@pytest.mark.parametrize("step", [2, -1])
def test_strides_of_any_kind_give_what_a_copy_gives(step):
    for axis in range(4):
        index = tuple(slice(None, None, step) if i == axis else slice(None) for i in range(4))
        views = tuple(array[index] for array in numpy_inputs((2, 4, 6, 16)))
        copies = tuple(np.ascontiguousarray(view) for view in views)
        assert np.array_equal(sharpmax.attention(*views), sharpmax.attention(*copies)), f"axis {axis}, step {step}"


def test_arrays_that_a_kernel_can_read_are_read_where_they_are():
    from sharpmax._arrays import NumPyArrays, TorchArrays

    array = numpy_inputs((2, 4, 6, 16))[0]
    for view in (array, array[::-1, 1:, ::2], array.transpose(0, 2, 1, 3), np.broadcast_to(array[:1], array.shape)):
        assert NumPyArrays.readable(view, "query") is view
    tensor = torch.from_numpy(array)
    assert NumPyArrays.readable(tensor, "query").ctypes.data == tensor.data_ptr() == array.ctypes.data
    assert TorchArrays(torch).readable(tensor.transpose(1, 2), "query").data_ptr() == array.ctypes.data
    jnp = pytest.importorskip("jax.numpy")
    elsewhere = jnp.asarray(array)
    assert np.asarray(elsewhere).ctypes.data == elsewhere.unsafe_buffer_pointer()  # what the JAX door reads


def odd_layouts(array):
    """The same elements where no kernel can read them as they lie."""
    beside = np.zeros(array.shape, [("a", array.dtype), ("b", "u2")])  # strides that are no multiple of an element
    beside["a"] = array
    shifted = np.zeros(array.nbytes + 1, "u1")[1:].view(array.dtype).reshape(array.shape)
    shifted[...] = array
    return {"a field": beside["a"], "swapped bytes": array.astype(array.dtype.newbyteorder()), "unaligned": shifted}


@pytest.mark.parametrize("name", ["a field", "swapped bytes", "unaligned"])
def test_layouts_that_no_kernel_reads_are_copied(name):
    query, key, value = numpy_inputs()
    wanted = sharpmax.attention(query, key, value)
    for place in range(3):
        arrays = [query, key, value]
        arrays[place] = odd_layouts(arrays[place])[name]
        found = sharpmax.attention(*arrays)
        assert np.array_equal(found, wanted) and found.dtype == np.float32
    mask = np.zeros((7, 7), np.float32)
    assert np.array_equal(sharpmax.attention(query, key, value, odd_layouts(mask)[name]), wanted)


def test_masked_arrays_are_refused_and_other_subclasses_are_arrays():
    query, key, value = numpy_inputs()
    with pytest.raises(TypeError, match="key is a masked array"):
        sharpmax.attention(query, np.ma.masked_array(key, key > 1), value)
    flat = [array[0, 0].view(np.recarray) for array in (query, key, value)]
    found = sharpmax.attention(*flat)
    assert type(found) is np.ndarray and np.array_equal(found, sharpmax.attention(*(np.asarray(a) for a in flat)))


@pytest.mark.parametrize("kind", ["numpy", "torch"])
@pytest.mark.parametrize("queries, keys", [(0, 5), (5, 0), (0, 0)])
def test_no_queries_and_no_keys_are_not_errors(kind, queries, keys):
    query, key = np.ones((1, 2, queries, 8), np.float32), np.ones((1, 2, keys, 8), np.float32)
    if kind == "torch":
        query, key = torch.from_numpy(query), torch.from_numpy(key)
        query, key = torch.empty(query.shape).copy_(query), torch.empty(key.shape).copy_(key)
    out, stats = sharpmax.attention(query, key, key, return_stats=True)
    assert tuple(out.shape) == (1, 2, queries, 8) and not out.any()
    assert tuple(stats.entropy.shape) == (1, 2, queries)
    gradients = sharpmax.attention_backward(out, query, key, key)
    assert not gradients.query.any() and tuple(gradients.key.shape) == (1, 2, keys, 8)


def test_tensors_that_require_grad_are_refused_where_no_one_would_record_them():
    arrays = numpy_inputs()
    tensors = [torch.from_numpy(array).requires_grad_() for array in arrays]
    with pytest.raises(TypeError, match="key requires grad"):
        sharpmax.attention(arrays[0], tensors[1], arrays[2])
    with pytest.raises(TypeError, match="query requires grad"):
        sharpmax.attention_backward(tensors[0].detach(), *tensors)
    with torch.no_grad():
        assert not sharpmax.attention(*tensors).requires_grad


def test_threads_do_not_change_a_bit():
    arrays = numpy_inputs((2, 3, 130, 32))
    alone = sharpmax.attention(*arrays, threads=1)
    for threads in (2, 3, 7):
        assert np.array_equal(sharpmax.attention(*arrays, threads=threads), alone)


def test_the_interpreter_runs_on_while_a_kernel_works():
    import threading

    arrays = numpy_inputs((1, 8, 600, 64), np.float64)  # float64: the slow specification
    worker = threading.Thread(target=sharpmax.attention, args=arrays, kwargs={"threads": 1})
    worker.start()
    turns = 0
    while worker.is_alive():
        turns += 1
        worker.join(0.001)
    assert turns > 3
