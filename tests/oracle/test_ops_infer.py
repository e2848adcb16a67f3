"""What TVM infers for calls of operators, and what it makes of our lowering: both must agree with ours.

Beside the examples of every operator, each example is varied: operands of unknown shape, rank or dtype, of other dtypes and
lengths, axes inside and outside. A call that TVM refuses must be refused here as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ops import table
from relax_explorer.core.ops.decl import Op
from tests.support.op_examples import TENSOR, Example, examples, module, read, split
from tests.support.op_values import apart, as_tuple, setting
from tests.support.oracle import Oracle

OPERATORS = [op for op in table().values() if op.examples]
# Where we differ on purpose: the operator, what its operands and attributes look like, and why.
DIFFERENCES = (
    ("split", r"indices_or_sections=\d", "TVM gives a last part of negative length when there are fewer elements than parts"),
    ("strided_slice", r"\[0,0\].*inbound|\[1,1\].*inbound", "TVM does not look at lengths it was promised to be large enough"),
    ("strided_slice", r"\(5,\) \(3,\)", "TVM gives a negative length for an end before the begin"),
    ("strided_slice", r"\[[an].*-\d,\)", "the same length, written in another way"),
    ("arange", r"^8 0", "TVM miscounts, or gives a negative length"),
    ("cumsum|cumprod", r"axis=", "TVM does not check the axis"),
    ("sort|argsort", r"\[\]|\[n\] axis=1|axis=-?[35]", "TVM does not check the axis, not even of a scalar"),
    ("topk", r"\[\?,\?\].*axis=7", "TVM does not check the axis if the shape is unknown"),
    ("scatter_elements", r"axis=(-5|3|5|7)$|axis=5 red|axis=-5 red", "TVM does not check the axis"),
    ("scatter_elements|scatter_nd", r"foo|mean", "TVM does not check the reduction"),
    ("slice_scatter", r" -3 ", "TVM does not count a negative start from the end when it compares lengths"),
    ("quantize|dequantize", r",7\] axis| [if]\d+\[4,7\]|\[2,7\]", "TVM looks at the first length of a matrix of scales only"),
    ("meshgrid", r"xy|foo", "TVM does not turn the axes in the type, though it does in the tensor, and does not check the word"),
    ("nn.conv1d_transpose|nn.conv2d_transpose", r"dilation=0|output_padding=-1", "TVM does not check these numbers"),
    ("nn.pixel_shuffle", r"\[a,b|\[n,c|\[n\*4", "TVM crashes on channels that are no literal"),
    ("nn.attention|nn.attention_bias", r"[if]\d\d?\[|bool", "TVM does not compare the dtypes; such a call can't run"),
    ("nn.attention_bias", r"", "TVM does not repeat all lengths of 1 and crashes on unknown ones"),
    ("nn.conv2d", r"f32\[a,b,c,d\]", "the same length, written in another way"),
    ("nn.pad", r"foo", "TVM does not check the mode"),
)  # fmt: skip
# Calls that are no variation of an example; each was wrong, or nearly, once.
CASES = """
add f32[4,n] f32[5,4] | add f32[n*2,4] f32[m,4] | add f32[?] f32 | add bool[4] any[4] | where bool[4] any[4] f32[4]
concat (f32[n],f32[n],f32[3]) | concat (f32[3],f32[n],f32[4]) | concat (f32[n],f32[0]) | concat (f32[n-1],f32[1])
concat (f32[n,4],f32[n,4]) axis=0 | concat (f32[n,4],f32[m,4]) axis=1 | concat (f32[4],f32[4]) axis=None
concat (f32[n,4],f32[n,4]) axis=None | concat (any[4],f32[4]) | concat (f32[4],bool[4]) | concat (f32[?],f32[4])
stack (f32[n],f32[m]) | stack (f32[4],bool[4]) | stack (f32[?],f32[4])
split f32[n] indices_or_sections=3 | split f32[n*4] indices_or_sections=2 | split f32[n*3] indices_or_sections=2
split f32[7] indices_or_sections=3 | split f32[6] indices_or_sections=4 | split f32[6] indices_or_sections=0
split f32[n] indices_or_sections=1 | split f32[n] indices_or_sections=[0,4] | split f32[5] indices_or_sections=[3,2]
split f32[n] indices_or_sections=[2,6,9] | split f32[n+8] indices_or_sections=[2] | split f32[5] indices_or_sections=[-2]
split f32[6] indices_or_sections=[] | split f32[?,?] indices_or_sections=[1,2] axis=1 | split f32[2] indices_or_sections=4
squeeze f32[n,1] | squeeze f32[n,m] axis=[0] | squeeze f32[2,m] axis=[0] | squeeze f32[0,1] | squeeze f32[]
flatten f32[2,n,4] | flatten f32[1,n] | flatten f32[0,n] | flatten f32[n,m,4]
reshape f32[n,4] (-1,2) | reshape f32[n,4] (n,-1) | reshape f32[n,6] (-1,4) | reshape f32[n,m,8] (m,-1) | reshape f32[2,3] (0,-1)
reshape f32[2,3] (-1,-1) | reshape f32[2,3] (4,-1) | reshape f32[2,3] (2,0) | reshape f32[?,?] (-1,2) | reshape f32[] (1,1)
expand_dims f32[n,4] axis=[0,-1] | expand_dims f32[n,4] axis=[] | expand_dims f32[4] axis=1 | broadcast_to f32[n] (m,n)
broadcast_to f32[2] (m,4) | broadcast_to f32[2,4] (4,) | repeat f32[n,m] repeats=2 | repeat f32[n,4] repeats=0 axis=1
tile f32[n,4] repeats=[2,1,3] | tile f32[n,4] repeats=2 | tile f32[?,?] repeats=[2,1,3]
take f32[n,4] i32[m] | take f32[n,4] 3 axis=0 | take f32[n,4] f32[m] axis=0 | take f32[n,4] i32[?,?] axis=0 | take f32 i32[m] axis=0
strided_slice f32[n,4] (0,) (1,) (n,) | strided_slice f32[n,4] (0,) (m,) (n,) | strided_slice f32[8,4] (0,) (0,) (m,)
strided_slice f32[n,4] (0,) (1,) (9,) (3,) | strided_slice f32[n,4] (0,) (0,) (n,) (2,) | strided_slice f32[8,4] (0,) (1,2) (3,)
strided_slice f32[n,4] (0,) (-3,) (-1,) | strided_slice f32[n,4] (0,) (3,) (9223372036854775807,)
strided_slice f32[8,4] (0,0) (1,1) (3,3) | strided_slice f32[8,4] (0,) (5,) (3,) | strided_slice f32[8,4] (0,) (1,) (3,) (0,)
strided_slice f32[8,4] (0,) (m,) (m+2,) assume_inbound=True | strided_slice f32[?,?] (1,) (1,) (3,)
arange m | arange 1 m 2 | arange 0 8.0 | arange 8 0 -1 | arange 0 8 0 | full (n,4) 3 | full (n,4) f32[?]
sum f32[?,?] | sum f32[?,?] keepdims=True | sum f32 keepdims=True | sum f32[n,4] axis=[] | argmax f32[?,?] | argmax f32 axis=0
matmul f32[n,4] f32[m,8] | matmul f32[b,n,4] f32[c,4,8] | matmul f32[4] f32[c,4,8] | matmul f32[?] f32[?] | matmul f32[c,4,8] f32[8]
permute_dims f32[2,3,4] axes=[-1,0,1] | permute_dims f32[2,3,4] axes=[0,1] | outer f32[?] f32[4] | tril f32[n] | tril f32
nn.conv1d f32[n,3,m] f32[4,3,3] strides=2 | nn.conv1d f32[n,3,m] f32[4,3,1] strides=3 padding=3
nn.conv1d f32[n,3,m*4] f32[4,3,3] strides=2 | nn.conv1d f32[n,3,m+1] f32[4,3,3] strides=2 | nn.conv1d f32 f32[4,3,3]
nn.conv2d f32[n,3,h,w] f32[4,3,3,3] strides=[2,2] padding=[1,1,1,1] | nn.conv2d f32[n,3,8,8] f32[4,3,3,3] padding=[1,2,3]
nn.conv2d f32[n,4,8,8] f32[3,2,3,3] groups=2 | nn.conv2d f32[n,c,8,8] f32[4,3,3,3] | nn.conv2d f32[n,3,8,8] f32[4,3,3,3] groups=0
nn.max_pool2d f32[n,3,h,w] pool_size=[3,3] strides=[2,2] ceil_mode=True | nn.max_pool2d f32[n,3,7,7] pool_size=2 strides=[0,1]
nn.max_pool2d f32[n,3,7] pool_size=2 | nn.pad f32 pad_width=[1,1] | nn.pad f32[n,4] pad_width=[1,-1,1,2]
nn.layer_norm f32[n,3,4] f32[?] f32[4] axes=-1 | nn.layer_norm f16[n,4] f32[4] f32[4] axes=-1
nn.group_norm f32[n,5,3] f32[5] f32[5] num_groups=2 channel_axis=1 axes=[2]
nn.group_norm f32[n,4,3] f32[4] f32[4] num_groups=2 channel_axis=1 axes=[1,2] | image.resize2d f32[1,4,4,3] (8,) layout="NHWC"
sort f32[n,m] axis=0 | sort f32 axis=5 | sort f32[?,?] axis=-3 | sort any[0] | sort f32[] | sort f32[n] axis=1
argsort f32[n,m] axis=0 | argsort f32[?,?] | argsort any | argsort f32[n] axis=1 dtype="int64" | argsort f32[] axis=0
topk f32[n,m] k=3 | topk f32[2] k=5 | topk f32[0] k=5 | topk f32[n+1] k=-1 | topk f32[?,?] k=2 | topk any k=2 | topk f32[n] k=2 axis=1
topk f32[n] k=2 ret_type="foo" | topk f32 k=2 ret_type="values" axis=7 | topk f32[?,?] k=2 ret_type="indices" axis=7 | topk f32[] k=1
bucketize f32[n] f32[?] | bucketize f32[n] f32 | bucketize f32[n] f32[?,?] | bucketize f32[n] f32[2,3] | bucketize f32 f32[3]
bucketize any[n] i32[3] | bucketize f32[n] i32[3] | bucketize f32[?,?] any[3] right=True | bucketize bool[2] f32[3] | bucketize f32[] f32[0]
unique f32[n,4] 1 0 0 0 | unique f32[n,4] 0 1 0 0 | unique f32[n,4] 1 1 0 0 0 | unique f32[n,4] 1 0 1 1 5 | unique f32 1 0 0 0 0
unique f32[] 1 0 0 0 | unique any[?,?] 1 1 1 1 -1 | unique f32[] 1 0 0 0 0 | unique f32[0] 1 0 0 1 | nonzero f32 | nonzero any[n] | nonzero f32[]
gather_elements f32[n,4] i64[m,3] axis=1 | gather_elements f32 i64[n] axis=5 | gather_elements f32[n] f32[n] | gather_elements f32[n] i64
gather_elements f32[?,?] i64[n,m] | gather_elements f32[n,4] i64[?,?] axis=-1 | gather_elements f32[n] i64[n,m] | gather_elements any[0] u8[n]
gather_elements f32[n] i64[n] axis=3 | gather_elements f32[n] any[n] | gather_elements f32[n] bool[n] | gather_elements f32[] i64[]
gather_nd f32[n,m,4] i64[2,1] | gather_nd f32[n,m] i64[2,3] | gather_nd f32[n,m] i64[n,k] | gather_nd f32[?,?,?] i64[n,2] | gather_nd f32 i64[n,2]
gather_nd f32[n,4] i64[?,?] | gather_nd f32[n,4,5] i64[n,1] batch_dims=1 | gather_nd f32[n,4] i64[n,2] batch_dims=1 | gather_nd f32[n] f32[n,1]
gather_nd f32[n] i64[n,1] batch_dims=3 | gather_nd f32[n,4] i64[m,1] batch_dims=-1 | gather_nd f32[n,4] i64[n,0] | gather_nd f32[n,4] any[n,1]
gather_nd f32[n,4,5] i64[m,3,1] batch_dims=1 | gather_nd f32[] i64[3,0] | gather_nd f32[n,4] i64[] | gather_nd f32[n,4] i64
gather_nd f32[0] i64[1,1]
index_tensor f32[n,4] (i64[3],i64[2,1]) | index_tensor f32[n,4] (i64[3],i64[2]) | index_tensor f32[n] (i64[3],i64[3]) | index_tensor f32 (i64[3],)
index_tensor f32[n,4] (i64[?],i64[2,1]) | index_tensor f32[n,4] (i64,) | index_tensor f32[?,?] (i64[n],) | index_tensor f32[n,4] (f32[3],)
index_tensor f32[n,4] (i64[n],i64[m]) | index_tensor f32[n,4] (any[3],) | index_tensor f32[n,4] (i64[3],i32[3]) | index_tensor any[n] (i64[],)
index_tensor f32[n,4] (i64[1],i64[n]) | index_tensor f32[n,4] (i64,i64[3]) | index_tensor f32[n,4] (bool[n],) | index_tensor f32[0] (i64[0],)
one_hot i64[n] 1 0 depth=0 | one_hot f32[n] 1 0 depth=3 | one_hot i64[n] 1 T.float32(0) depth=3 | one_hot i64 1 0 depth=3
one_hot i64[?,?] T.float16(1) T.float16(0) depth=3 axis=0
one_hot i64[n] 1 0 depth=3 axis=2 | one_hot i64[n] 1 0 depth=3 axis=-2 | one_hot i64[n] 1 0 depth=-3 | one_hot any[n] 1 0 depth=2
one_hot i64[] 1 0 depth=2
one_hot i64[n] 1 0 depth=3 axis=-3 | one_hot i64 1 0 depth=3 axis=9 | one_hot bool[n] 1 0 depth=3 | one_hot i64[0] 1 0 depth=3
scatter_elements f32[n,4] i64[2,3] f32[2,3] axis=1 | scatter_elements f32[n,4] i64[2,3] f32[2,4] | scatter_elements f32[n,4] i64[n,3] f32[m,3]
scatter_elements f32[n] f32[n] f32[n] | scatter_elements f32[n] i64[n] f16[n] | scatter_elements f32 i64[n] f32[n]
scatter_elements f32[?] i64[n] f32[n]
scatter_elements f32[n] i64 f32 | scatter_elements f32[n] i64[n] any[n] | scatter_elements any[n] i64[n] f32[n]
scatter_elements f32[n] any[n] f32[n]
scatter_elements f32[n] i64[n,m] f32[n] | scatter_elements f32[n] i64[n] f32[n,m] | scatter_elements f32[n] i64[n] f32[n] axis=3
scatter_elements f32 i64[n] f32[n,m]
scatter_elements f32[n] i64[n] f32[n] reduction="foo" | scatter_elements f32[n] i64[?] f32[?] reduction="mean"
scatter_elements f32[n] bool[n] f32[n]
scatter_elements f32 i64[n] f32[n] axis=7 | scatter_elements f32[?] i64[n] f32[3] axis=7 | scatter_elements f32[0] i64[0] f32[0]
scatter_nd f32[n,4] i64[m,1] f32[m,4] | scatter_nd f32[n,4] i64[m,1] f32[k,4] | scatter_nd f32[n,4] i64[m,1] f32[m,5]
scatter_nd f32[n,4] i64[m,3] f32[m]
scatter_nd f32[n,4] i64[m,1] f32[m] | scatter_nd f32 i64[m,1] f32[m] | scatter_nd f32[n,4] i64 f32 | scatter_nd f32[n,4] f32[m,1] f32[m,4]
scatter_nd f32[?,?] i64[m,1] f32[m,4]
scatter_nd f32[n,4] i64[m,1] f16[m,4] | scatter_nd any[n,4] i64[m,1] f16[m,4] | scatter_nd f32[n,4] any[m,1] f32[m,4]
scatter_nd f32[n,4] i64[m,k] f32[m,4]
scatter_nd f32[n,4] i64[m,1] f32[m,4] reduction="mean" | scatter_nd f32[n,4] i64[m,1] f32[m,4] reduction="foo" | scatter_nd f32[n,4] i64[?,?] f32[m]
scatter_nd f32[n,4] i64[m,1] f32[?,?,?] | scatter_nd f32[n,4] i64[m,1] any[m,4] | scatter_nd f32[n] i64[] f32[n] | scatter_nd f32[] i64[m,0] f32[m]
index_put f32[n,4] (i64[3],i64[3]) f32[3] | index_put f32[n,4] (i64[3],) f32[3] | index_put f32[n] (i64[3],i64[3]) f32[3]
index_put f32 (i64[3],) f32
index_put f32[n] (f32[3],) f32[3] | index_put f32[n] (i64[3],) f16[3] | index_put f32[n] (i64[3,2],) f32[3]
index_put f32[n] (i64[3],) f32[5] | index_put f32[n] (i64,) f32[3]
index_put f32[?,?] (i64[3],i64[2]) f32[3] | index_put f32[n] (any[3],) any[3] | index_put f32[n] (bool[n],) f32[]
index_put f32[n,4] (i64[3],i64[2]) f32[3]
slice_scatter f32[n,4] f32[2,4] 0 2 1 | slice_scatter f32[8,4] f32[2,4] 0 3 1 | slice_scatter f32[8,4] f32[3,5] 0 3 1
slice_scatter f32[n,4] f32[m,4] 0 m 1
slice_scatter f32[n,4] f32[m] 0 m 1 | slice_scatter f32[n] f16[m] 0 m 1 | slice_scatter f32 f32[2] 0 2 1
slice_scatter f32[?,?] f32[2,4] 0 2 1 axis=1
slice_scatter f32[8] f32[2] 0 2 0 | slice_scatter f32[8] f32[2] 0 2 -1 | slice_scatter f32[8] f32[2] 0 2 1 axis=4
slice_scatter f32[8] f32[8] 0 100 1
slice_scatter f32[8] f32[3] -3 9 1 | slice_scatter any[8] f32[3] 0 3 1 | slice_scatter f32[8] f32 0 3 1 | slice_scatter f32 f32 0 3 1 axis=9
slice_scatter f32[8] f32[4] 0 m 2
index_tensor f32[n,4] (u8[3],) | scatter_elements f32[n] u8[n] f32[n] | scatter_nd f32[n,4] u8[m,1] f32[m,4] | index_put f32[n] (u8[3],) f32[3]
one_hot u8[n] 1 0 depth=3 | gather_nd f32[n,4] u8[n,1] | slice_scatter f32[8] f32[2] 5 2 1 | scatter_nd any[n] i64[m,1] any[m]
quantize f32[n,4] f32[3] i8[4] | quantize f32[n,4] f32[m] i8[4] | quantize f32[n,4] f32[n] i8[n] axis=0 | quantize f32[n,4] f32[1] i8[]
quantize f32 f32[4] i8[4]
quantize f32[n,4] f32[4] i8[4] out_dtype="int32" | quantize f32[n,4] f32[4] i8[4] out_dtype="uint8"
quantize f32[n,4] f32[4] i8[4] out_dtype="float32"
quantize f32[n,4] f32[4] i8[4] out_dtype="int16" | quantize f32[n,4] f16[4] i8[4] | quantize f32[n,4] f32[4] f16[4]
quantize f32[n,4] f32[4] i32[4] | quantize f32[n,4] f32[4] u8[4]
quantize f32[n,4] i8[4] i8[4] | quantize f32[n,4] f32[4] f32[4] | quantize f32[n,4] any[4] i8[4] | quantize f32[n,4] f32[4] any[4]
quantize f32[n,4] f32 i8 | quantize f64[n,4] f32[4] i8[4]
quantize bf16[n,4] f32[4] i8[4] | quantize f32[n,4] f32[?] i8[?] | quantize f32[n,4] f32[?,?] i8[4] | quantize f32[] f32[] i8[]
quantize f32[0,4] f32[4] i8[4] axis=-1
quantize f32[n,4] f32[4] i64[4] | quantize f32[n,4] f32[4] bool[4] | quantize f32[n,4] bf16[4] i8[4] | quantize f32[n,4] f64[4] i8[4]
quantize f32[n,4] f32[4] i32[4] | quantize f32[?,?] f32[4] i8[3]
quantize f32[n,4] f32[4] i8[4] out_dtype="uint16" | quantize f32[n,4] f32[4] i8[4] out_dtype="int64"
quantize f32[n,4] f32[4] i8[4] out_dtype="bool" | quantize f32[n,4] f32[4] i8[4] out_dtype="float16"
dequantize i8[n,4] f32[3] i8[4] | dequantize i8[n,4] f32[m] i8[4] | dequantize i8[n,4] f32[1] i8[] | dequantize i8 f32[4] i8[4]
dequantize i32[n,4] f32[4] i32[4] | dequantize i64[n,4] f32[4] i64[4]
dequantize i8[n,4] f32[4] i8[4] out_dtype="float64" | dequantize i8[n,4] f32[4] i8[4] out_dtype="float16"
dequantize i8[n,4] f32[4] i8[4] out_dtype="int8" | dequantize i8[n,4] f16[4] i8[4]
dequantize u8[n,4] f32[4] i8[4] | dequantize f32[n,4] f32[4] f32[4] | dequantize i8[n,4] f32[4] f32[4] | dequantize i8[n,4] i8[4] i8[4]
dequantize any[n,4] f32[4] i8[4] | dequantize i8[n,4] f32[4] i32[4]
dequantize f16[n,4] f16[4] f16[4] | dequantize i8[n,4] f32[4] i8[4] out_dtype="bfloat16" | dequantize bool[n,4] f32[4] i8[4]
dequantize u32[n,4] f32[4] i8[4] | dequantize i8[n,4] f32[4] f16[4]
dequantize i8[n,4] any[4] any[4] | dequantize i8[n,4] f32[?,?] i8 | dequantize f64[n,4] f32[4] i8[4] | dequantize i8[n,4] f64[4] i8[4]
dequantize i8[n,4] f32[4] u8[4] | dequantize i8[n,4] f32[4] bool[4]
quantize f32[n,4] f32[4] u32[4] | quantize f32[n,4] f32[4] i8[4] out_dtype="float8_e4m3fn" | quantize f32[n,4] f32[1,1] i8[1]
quantize f32[n,4] f32[] i8[] axis=7
quantize any[n,4] f32[3] i8[4] axis=9 | quantize any[n,4] f64[3] i8[4] | dequantize any f32[] u8[] out_dtype="int8"
dequantize i8[?,?] f32[] i8[1] | quantize f32[] f32[3] i8[]
quantize f32[n+1] f32[n+1] i8[1+n] | dequantize i8[] f32[] i8[] axis=4 | quantize f32[n,4] f32[4] i8[4] out_dtype="float8_e5m2"
dequantize i8[n,0] f32[0] i8[0]
dequantize f8[n,4] f32[4] f8[4] | dequantize f8[n,4] f32[4] f16[4] | dequantize i32[n,4] f32[4] u32[4] | quantize f8[n,4] f32[4] i8[4]
meshgrid (f32[n],f32[m]) indexing="xy" | meshgrid (f32[n],f32[m,3]) | meshgrid (f32[n],f32[]) | meshgrid (f32[n],i32[3]) | meshgrid (f32[?],f32[3])
meshgrid (f32,f32[3]) | meshgrid (any[n],f32[3]) | meshgrid (any[n],any[3]) | meshgrid (f32[0],) | meshgrid (f32[2],f32[3]) indexing="xy"
meshgrid (f32[2],f32[3]) indexing="foo"
nn.pixel_shuffle f32[n,c,h,w] upscale_factor=2 | nn.pixel_shuffle f32[n*4,h,w] upscale_factor=2 | nn.pixel_shuffle f32[6,h,w] upscale_factor=2
nn.pixel_shuffle f32[?,?,?] upscale_factor=2 | nn.pixel_shuffle f32 upscale_factor=2 | nn.pixel_shuffle f32[4,4] upscale_factor=2
nn.pixel_shuffle f32[0,2,2] upscale_factor=2
nn.pixel_shuffle f32[4,2,2] upscale_factor=0 | nn.pixel_shuffle f32[4,2,2] upscale_factor=-2 | nn.pixel_shuffle any[1,2,8,3,0] upscale_factor=1
nn.cross_entropy_with_logits f32[n,4] f32[m,4] | nn.cross_entropy_with_logits f32[n,4] f32[3,5] | nn.cross_entropy_with_logits f32 f32[4]
nn.cross_entropy_with_logits f32[4] f32[n,4]
nn.cross_entropy_with_logits f32[4] any[4] | nn.cross_entropy_with_logits f32[4] i32[4] | nn.cross_entropy_with_logits f32[] f32[]
nn.cross_entropy_with_logits i32[4] i32[4]
nn.nll_loss f32[n,4] i64[m] f32[4] | nn.nll_loss f32[n,4] i64[n] f32[5] | nn.nll_loss f32[n,4] i64[n] f32[m]
nn.nll_loss f32[n,4] f32[n] f32[4] | nn.nll_loss f32[n,4] i64[n]
nn.nll_loss f32[n,4] i64[n] f16[4] | nn.nll_loss f32[n,4] i64[n,3] f32[4] | nn.nll_loss f32 i64[n] f32[4] reduction="none"
nn.nll_loss f32[n,4] i64 f32[4] reduction="none"
nn.nll_loss f32[n,4,h] i64[n,h] reduction="none" | nn.nll_loss f32[?,?] i64[n] reduction="none"
nn.nll_loss f32[n,4] i64[?] reduction="none" | nn.nll_loss f32[4] i64[] reduction="none"
nn.nll_loss f32[] i64[] | nn.nll_loss any[n,4] i64[n] f32[4] | nn.nll_loss f32[n,4] any[n] any[4]
nn.nll_loss f32[n,4] i64[n] f32[4] reduction="foo" | nn.nll_loss f32 i64 reduction="none"
nn.nll_loss f32[3,4,5] i64[3,6] reduction="none" | nn.nll_loss f32[n,4,h] i64[m,h] reduction="none"
nn.nll_loss f32[?,?] i64 reduction="none" | nn.nll_loss f32[4] i64[1] | nn.nll_loss f32[n,4] u8[n]
nn.nll_loss f32[n,4] i64[n] f32[4,1] | nn.nll_loss f32[n,4] bool[n] | nn.nll_loss f32[n,4] i64[n] f32 | nn.nll_loss i32[n,4] i64[n] i32[4]
nn.nll_loss f32 i64[] reduction="none"
nn.conv1d_transpose f32[n,3,m] f32[3,4,3] strides=2 | nn.conv1d_transpose f32[n,4,m] f32[3,4,3] | nn.conv1d_transpose f32[n,3,m] f32[3,4,3] groups=2
nn.conv1d_transpose f32[n,3,8] f32[3,4,3] output_padding=1 | nn.conv1d_transpose f32[n,3,8] f32[3,4,3] strides=2 output_padding=-1
nn.conv1d_transpose f32 f32[3,4,3]
nn.conv1d_transpose f32[n,c,8] f32[3,4,3] | nn.conv1d_transpose f32[n,3,8] f16[3,4,3]
nn.conv1d_transpose f32[n,3,8] f16[3,4,3] out_dtype="float32"
nn.conv1d_transpose f32[n,4,8] f32[4,5,k] groups=2 padding=1 | nn.conv1d_transpose f32[n,4,8] f32[4,o,3] groups=4
nn.conv1d_transpose f32[n,4,8] f32[4,2,3] groups=0
nn.conv2d_transpose f32[n,3,h,w] f32[3,4,3,3] strides=2 padding=1 output_padding=1
nn.conv2d_transpose f32[n,3,h,w] f32[3,4,3,3] strides=[2,1] output_padding=[1,1]
nn.conv2d_transpose f32[n,h,w,3] f32[3,3,3,4] data_layout="NHWC" kernel_layout="IHWO" | nn.conv2d_transpose f32[n,3,4] f32[3,4,3,3]
nn.conv2d_transpose any[n,3,4,4] f32[3,4,3,3]
nn.conv2d_transpose f32[n,3,4,4] f32[3,4,3,3] padding=[1,2,3] | nn.conv2d_transpose f32[n,3,4,4] f32[3,4,3,3] dilation=0
nn.conv2d_transpose f32[n,3,4,4] f32[3,4,3,3] out_layout="NHWC"
tensor_to_shape i64[n] | tensor_to_shape i64[2,2] | shape_of f32[] | size f32
"""
RUN = (
    "matmul", "nn.conv2d", "nn.avg_pool2d", "nn.softmax", "nn.group_norm", "nn.attention", "image.resize2d", "strided_slice",
    "argmax", "cumsum", "erf", "take", "nn.nll_loss", "quantize", "sort", "topk", "unique", "gather_nd", "scatter_elements", "scatter_nd",
)  # fmt: skip

each_operator = pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.name.removeprefix("relax."))


@each_operator
def test_examples_have_the_types_of_tvm(op: type[Op], oracle: Oracle) -> None:
    functions = [read(op, text).function(f"example{n}") for n, text in enumerate(op.examples)]
    text = module(functions)
    theirs = {row.function: plain(row.type) for row in oracle.types(text).get()}
    assert {name: ours for name, ours in our_types(text).items() if theirs[name] != ours} == {}


@each_operator
def test_varied_calls_have_the_types_of_tvm(op: type[Op], oracle: Oracle) -> None:
    found = [difference(example, oracle) for example in variants(read(op, op.examples[0]))]
    assert [text for text in found if text] == []


@pytest.mark.parametrize("line", [line for line in CASES.splitlines() if line])
def test_calls_have_the_types_of_tvm(line: str, oracle: Oracle) -> None:
    found = []
    for case in line.split(" | "):
        name, _, text = case.strip().partition(" ")
        found.append(difference(read(table()[f"relax.{name}"], f"{text} -> ()"), oracle))
    assert [text for text in found if text] == []


@each_operator
def test_tvm_accepts_the_lowering(op: type[Op], oracle: Oracle) -> None:
    text = module([read(op, text).function(f"example{n}") for n, text in enumerate(op.examples)])
    lowered = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "LegalizeOps").script()
    assert oracle.well_formed(lowered).get() == (True, "")


@pytest.mark.parametrize("name", RUN)
def test_tvm_computes_what_we_compute(name: str, oracle: Oracle) -> None:
    op = table()[f"relax.{name}"]
    at = setting(read(op, op.examples[-1]), dict.fromkeys("abcdhmnstw", 3))
    lowered = rxe.apply_pass(at.module, "LegalizeOps").script()
    ours = at.evaluate(op)
    for text in (lowered, read(op, op.examples[-1]).module()):
        theirs = tuple(np.asarray(item) for item in as_tuple(oracle.run(text, "main", at.inputs()).get()))
        assert not apart(theirs, ours)


def variants(example: Example) -> Iterator[Example]:
    """The example with one operand, or one axis, changed."""
    for n, operand in enumerate(example.operands):
        match = TENSOR.match(operand)
        if match is not None and match[2] is not None:
            for form in forms(match[1], match[2]):
                yield replace(example, operands=(*example.operands[:n], form, *example.operands[n + 1 :]))
    for n, attribute in enumerate(example.attributes):
        name, value = attribute.split("=", 1)
        if name not in ("axis", "axes", "channel_axis"):
            continue
        values = (
            ("[-1]", "[0]", "[5]", "[-5]", "[]", "[0,0]") if value.startswith("[") else ("0", "-1", "5", "-5")
        )
        for other in values:
            changed = f"{name}={other}"
            yield replace(
                example, attributes=(*example.attributes[:n], changed, *example.attributes[n + 1 :])
            )
        yield replace(example, attributes=(*example.attributes[:n], *example.attributes[n + 1 :]))


def forms(dtype: str, lengths: str) -> list[str]:
    """A tensor with less known, of another dtype, rank or length, or no tensor."""
    rank = len(split(lengths))
    found = [
        dtype,
        "any",
        f"any[{lengths}]",
        f"i32[{lengths}]",
        f"f16[{lengths}]",
        f"bool[{lengths}]",
        "object",
    ]
    found.append(f"{dtype}[{lengths},7]" if lengths else f"{dtype}[7]")
    if rank:
        found += [
            f"{dtype}[{','.join(items)}]" for items in ("?" * rank, "abcd"[:rank], "0" * rank, "1" * rank)
        ]
        found.append(f"{dtype}[]")
    return list(dict.fromkeys(found))


def difference(example: Example, oracle: Oracle) -> str:
    """What differs beyond the known differences; empty when nothing does."""
    words = " ".join((*example.operands, *example.attributes))
    if any(re.fullmatch(names, short(example)) and re.search(form, words) for names, form, _ in DIFFERENCES):
        return ""
    ours, theirs = our_type(example.module()), their_type(example.module(), oracle)
    if ours == theirs:
        return ""
    return f"{short(example)} {words}: ours {ours or 'refused'}, TVM's {theirs or 'refused'}"


def short(example: Example) -> str:
    return example.op.name.removeprefix("relax.")


def our_type(text: str) -> str:
    """The type of the call in a text, empty when it is refused."""
    try:
        parsed = rxe.parse(text)
    except rxe.Failure:
        return ""
    if any(problem.is_error for problem in rxe.check(parsed, profile="tvm")):
        return ""
    return our_types(text)["main"]


def our_types(text: str) -> dict[str, str]:
    """The types of the results by function."""
    normal = rxe.normalize(rxe.parse(text))
    results = {name: fn.body.blocks[0].bindings[-1].var.struct_info for name, fn in normal.functions.items()}
    return {name: plain(str(info)) for name, info in results.items()}


def their_type(text: str, oracle: Oracle) -> str:
    """TVM's type of the call, empty when it refuses it."""
    answer = oracle.types(text)
    return plain(answer.get()[-1].type) if answer.ok else ""


def plain(text: str) -> str:
    """One spelling of what both print: literals without their type, names as TVM 0.27 has them."""
    text = text.replace("T.Tuple", "R.Tuple").replace("R.Any", "R.Object").replace("(ndim=-1)", "")
    return re.sub(r"T\.int64\((-?\d+)\)", r"\1", text)


def test_every_known_difference_is_about_an_operator() -> None:
    names = {short(example) for example in examples()}
    assert all(set(pattern.split("|")) <= names for pattern, _, _ in DIFFERENCES)
