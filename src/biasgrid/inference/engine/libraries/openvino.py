"""Encoders by OpenVINO: a model's base is converted in memory and compiled for the processor; torch
keeps its head.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import torch

from biasgrid.inference.checkpoints.checkpoint import ModelError, first_line

if TYPE_CHECKING:
    from transformers import PreTrainedModel

PRECISIONS = {"float32": "f32", "tf32": "f32", "bfloat16": "bf16"}
"""What OpenVINO calls the precisions that it computes in as asked; in place of float16 it takes
another one.
"""
EXPECTED = "expected `engine: torch` or `auto`"
INSTALL = "`pip install 'biasgrid[openvino]'`"


def openvino_version() -> str:
    """Returns the version of OpenVINO, whose last bits may be others than those of the next.

    Raises:
        ModelError: it is not installed.
    """
    try:
        # A package without its code, or code without the package, is not installed.
        return version("openvino") if find_spec("openvino") else missing_package()
    except PackageNotFoundError:
        return missing_package()


def missing_package() -> str:
    """Refuses to go on without OpenVINO."""
    raise ModelError(f"`engine: openvino` needs the package openvino; install it with {INSTALL}")


def import_openvino() -> Any:
    """Imports OpenVINO without its telemetry, which would report each import and conversion over
    the network, unasked.

    Raises:
        ModelError: it is not installed.
    """
    openvino_version()
    # OpenVINO does without the package where it cannot be imported.
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    import openvino

    return openvino


class OpenVinoEncoder:
    """The forward pass of a model's base, from tokens to hidden states, by OpenVINO.

    It takes the place of the base's `forward`, so that heads, and hooks on the base, are as before.
    The base is converted at the first batch, when its weights must be float32, and takes batches of
    any shape from then on.
    """

    def __init__(self, model: PreTrainedModel, threads: int):
        """Takes the place of the base's `forward`, in float32; nothing is converted yet.

        Args:
            model: an encoder with a head, or without one, float32 on the CPU.
            threads: how many it computes with.

        Raises:
            ModelError: OpenVINO is not installed, or the model has a decoder.
        """
        self.openvino = import_openvino()
        self.base, self.threads = model.base_model, threads
        self.converted: Any = None
        self.compiled: Any = None
        self.output: type[Any] = dict
        self.names: list[str] = []
        if model.config.is_encoder_decoder:
            raise ModelError(
                f"OpenVINO computes encoders alone, and this model has a decoder; {EXPECTED}"
            )
        self.attach()

    def attach(self) -> None:
        """Computes the base from now on."""
        self.by_torch = self.base.forward

        # The signature stays that of the model, which says what inputs it takes.
        @wraps(self.by_torch)
        def forward(*args: Any, **kwargs: Any) -> Any:
            return self.run(*args, **kwargs)

        self.base.forward = forward

    def detach(self) -> None:
        """Lets torch compute the base from now on."""
        self.base.forward = self.by_torch

    @contextmanager
    def detached(self) -> Iterator[None]:
        """Lets torch compute the base meanwhile."""
        self.detach()
        try:
            yield
        finally:
            self.attach()

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Returns what the base's `forward` does, with its parameters.

        Raises:
            ModelError: the base cannot be converted, or it is asked for more than its usual output.
        """
        inputs = self._tensors(*args, **kwargs)
        if self.compiled is None:
            self._convert(inputs)
            self._compile("f32")
        found = self.compiled(
            {name: tensor.numpy() for name, tensor in inputs.items()}, share_inputs=True
        )
        dtype = next(self.base.parameters()).dtype
        values = {
            name: torch.from_numpy(found[place]).to(dtype) for place, name in enumerate(self.names)
        }
        return self.output(**values)

    def _tensors(self, *args: Any, **kwargs: Any) -> dict[str, torch.Tensor]:
        """Returns the inputs by name."""
        bound = inspect.signature(self.by_torch).bind(*args, **kwargs)
        given: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            is_rest = bound.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
            given |= value if is_rest else {name: value}
        tensors = {name: value for name, value in given.items() if isinstance(value, torch.Tensor)}
        if more := [
            name
            for name, value in given.items()
            if name not in tensors and name != "return_dict" and value
        ]:
            raise ModelError(
                f"OpenVINO does not compute a model that is asked for {', '.join(more)}; {EXPECTED}"
            )
        return tensors

    def _convert(self, inputs: Mapping[str, torch.Tensor]) -> None:
        """Converts the base, given inputs such as it will have."""
        # In a batch of one row, what hangs on the number of rows would be taken for a constant.
        example = {
            name: value[:1].expand(2, *value.shape[1:]).contiguous()
            for name, value in inputs.items()
        }
        # Hooks on the base would be converted, too, with what they know of this batch.
        plain = torch.nn.Module()
        plain.base, plain.forward = self.base, self.by_torch
        try:
            with torch.inference_mode(), warnings.catch_warnings():
                # The tracer warns of each branch, whichever way it goes; whether all is the same is
                # tested afterwards.
                warnings.simplefilter("ignore")
                output = self.by_torch(**example)
                self.converted = self.openvino.convert_model(plain.eval(), example_input=example)
        except Exception as error:  # architectures fail in their own ways
            raise ModelError(
                f"OpenVINO cannot convert this model ({first_line(error)}); {EXPECTED}"
            ) from error
        given = {name for name, value in output.items() if value is not None}
        names = [next(iter(port.names & given), None) for port in self.converted.outputs]
        if {*names} != given:
            raise ModelError(
                "OpenVINO converts this model "
                f"without {', '.join(sorted(given - {*names}))}; {EXPECTED}"
            )
        self.output, self.names = type(output), [str(name) for name in names]

    def set_precision(self, precision: str) -> None:
        """Computes the converted base in a precision from now on, which must not change again.

        Args:
            precision: a key of `PRECISIONS`.

        Raises:
            ModelError: OpenVINO does not compute in that precision, or not on this processor.
        """
        if precision not in PRECISIONS:
            raise ModelError(f"OpenVINO does not compute in {precision}; {EXPECTED}")
        if PRECISIONS[precision] != "f32":
            self._compile(PRECISIONS[precision])
        # It holds all weights in float32.
        self.converted = None

    def _compile(self, precision: str) -> None:
        options = {
            "INFERENCE_PRECISION_HINT": precision,
            "INFERENCE_NUM_THREADS": self.threads,
            "NUM_STREAMS": 1,
            # Several jobs of a machine would be bound to the same cores.
            "ENABLE_CPU_PINNING": False,
        }
        self.compiled = self.openvino.Core().compile_model(self.converted, "CPU", options)
        taken = self.compiled.get_property("INFERENCE_PRECISION_HINT").to_string()
        if taken != precision:
            raise ModelError(
                f"OpenVINO computes in {taken} on this processor in place "
                f"of {precision}; {EXPECTED}"
            )
