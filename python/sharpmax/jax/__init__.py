"""sharpmax for JAX arrays: through jax.pure_callback, with a custom VJP, under jit, grad and vmap.

The kernels run on the CPU; arrays of another device are brought there and back by JAX. float16 and bfloat16
are cast to float32 on the way in and back on the way out. Under vmap the calls are made one by one.
"""

try:
    import jax as _jax  # noqa: F401
except ImportError:
    raise ImportError("sharpmax.jax needs JAX: pip install 'sharpmax[jax]'") from None

from ._attention import attention
from ._normalize import normalize

__all__ = ["attention", "normalize"]
