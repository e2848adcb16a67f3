"""Operators that put tensors together and take them apart."""

HEAD


class Concat(Op, name="relax.concat"):
    """Tensors one after another along an axis (numpy.concatenate)."""

    tensors: Tensors = operand("a tuple of tensors")
    axis: int | None = attr(0, "the axis")
    fusion = Fusion.INJECTIVE
    examples = ("(f32[n,4],f32[n,2]) axis=1 -> f32[n,6]",)

    @staticmethod
    def infer(at: Site, tensors: s.StructInfo, axis: int | None) -> s.StructInfo:
        """The lengths along the axis added; the others must agree."""
        infos = rules.tensors(at, tensors, "tensors")
        if not infos:
            raise at.fail(codes.ARGUMENT_COUNT, "there is nothing to concatenate", tensors="an empty tuple")
        kind = rules.same_dtype(at, **{f"field{n}": info for n, info in enumerate(infos)})
        rank = max(info.ndim for info in infos)
        for info in infos:
            if info.ndim not in (-1, rank):
                raise at.fail(codes.RANK_WRONG, f"ranks differ: {rank} and {info.ndim}")
        place = rules.axis(at, axis or 0, rank)
        if any(info.dims is None for info in infos):
            return s.TensorStructInfo(None, kind, rank)
        return s.TensorStructInfo(_concat_shape(at, [info.dims or () for info in infos], place), kind)

    @staticmethod
    def evaluate(tensors: tuple[Any, ...], axis: int | None) -> Any:
        """numpy.concatenate."""
        return np.concatenate(tensors, axis or 0)

    @staticmethod
    def legalize(te: Te, tensors: Sequence[Tensor], axis: int | None) -> Tensor:
        """From the tensor that the index along the axis falls in."""
        place = (axis or 0) % tensors[0].ndim
        shape = _concat_shape(Site(None), [x.shape for x in tensors], place)

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            start: p.PrimExpr = p.IntImm(0)
            starts = []
            for x in tensors:
                starts.append(start)
                start = simplify(p.Add(start, x.shape[place]))
            value: p.PrimExpr | None = None
            for x, first in zip(reversed(tensors), reversed(starts), strict=True):
                own = x[(*i[:place], simplify(p.Sub(i[place], first)), *i[place + 1 :])]
                value = (
                    own
                    if value is None
                    else where(p.LT(i[place], simplify(p.Add(first, x.shape[place]))), own, value)
                )
            assert value is not None  # there is at least one tensor
            return value

        return te.compute("T_concat", shape, element)


def _concat_shape(at: Site, shapes: Sequence[rules.Dims], place: int) -> rules.Dims:
    result = list(shapes[0])
    total = shapes[0][place]
    for dims in shapes[1:]:
        total = p.Add(total, dims[place])
        for n, (a, b) in enumerate(zip(shapes[0], dims, strict=True)):
            if n != place and at.equal(a, b) is Answer.NO:
                raise at.fail(
                    codes.DIMS_DIFFER,
                    f"axis {n} has the lengths {a} and {b}",
                    tensors="all axes but one must agree",
                )
    result[place] = simplify(total)
    return tuple(result)


class Stack(Op, name="relax.stack"):
    """Tensors of one shape along a new axis (numpy.stack)."""

    tensors: Tensors = operand("a tuple of tensors")
    axis: int = attr(0, "the place of the new axis")
    fusion = Fusion.INJECTIVE
    examples = ("(f32[n,4],f32[n,4]) axis=1 -> f32[n,2,4]",)

    @staticmethod
    def infer(at: Site, tensors: s.StructInfo, axis: int) -> s.StructInfo:
        """The number of tensors at the new axis."""
        infos = rules.tensors(at, tensors, "tensors")
        if not infos:
            raise at.fail(codes.ARGUMENT_COUNT, "there is nothing to stack", tensors="an empty tuple")
        kind = rules.same_dtype(at, **{f"field{n}": info for n, info in enumerate(infos)})
        first = infos[0]
        if first.dims is None:
            return s.TensorStructInfo(None, kind, first.ndim + 1 if first.ndim >= 0 else -1)
        place = rules.axis(at, axis, len(first.dims) + 1)
        for info in infos[1:]:
            if info.dims is not None and (
                len(info.dims) != len(first.dims)
                or any(at.equal(a, b) is Answer.NO for a, b in zip(first.dims, info.dims, strict=True))
            ):
                raise at.fail(
                    codes.DIMS_DIFFER,
                    f"the shapes {rules.text(first.dims)} and {rules.text(info.dims)} differ",
                )
        dims = list(first.dims)
        dims.insert(place, p.IntImm(len(infos)))
        return s.TensorStructInfo(tuple(dims), kind)

    @staticmethod
    def evaluate(tensors: tuple[Any, ...], axis: int) -> Any:
        """numpy.stack."""
        return np.stack(tensors, axis)

    @staticmethod
    def legalize(te: Te, tensors: Sequence[Tensor], axis: int) -> Tensor:
        """From the tensor that the index along the new axis names."""
        place = axis % (tensors[0].ndim + 1)
        shape = list(tensors[0].shape)
        shape.insert(place, p.IntImm(len(tensors)))

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            rest = (*i[:place], *i[place + 1 :])
            value = tensors[-1][rest]
            for n in range(len(tensors) - 2, -1, -1):
                value = where(p.EQ(i[place], p.IntImm(n)), tensors[n][rest], value)
            return value

        return te.compute("T_stack", shape, element)


class Split(Op, name="relax.split"):
    """A tensor cut into several along an axis (numpy.split)."""

    x: Tensor = operand("the tensor")
    indices_or_sections: Value = attr(REQUIRED, "how many equal parts, or the places of the cuts")
    axis: int = attr(0, "the axis")
    fusion = Fusion.INJECTIVE
    examples = (
        "f32[n,6] indices_or_sections=3 axis=1 -> (f32[n,2],f32[n,2],f32[n,2])",
        "f32[6] indices_or_sections=[1,4] -> (f32[1],f32[3],f32[2])",
    )

    @staticmethod
    def infer(at: Site, x: s.StructInfo, indices_or_sections: Any, axis: int) -> s.StructInfo:
        """A tuple of the parts; of equal parts the last is shorter when the length does not divide."""
        info = rules.tensor(at, x, "x")
        place = rules.axis(at, axis, info.ndim)
        count = indices_or_sections if isinstance(indices_or_sections, int) else len(indices_or_sections) + 1
        if count <= 0:
            raise at.fail(
                codes.BAD_ATTRIBUTE,
                f"indices_or_sections is {indices_or_sections}, at least one part is needed",
            )
        if info.dims is None:
            return s.TupleStructInfo((s.TensorStructInfo(None, info.dtype, info.ndim),) * count)
        spans = _spans(info.dims[place], indices_or_sections)
        parts = [
            s.TensorStructInfo((*info.dims[:place], size, *info.dims[place + 1 :]), info.dtype)
            for _, size in spans
        ]
        return s.TupleStructInfo(tuple(parts))

    @staticmethod
    def evaluate(x: Any, indices_or_sections: Any, axis: int) -> tuple[Any, ...]:
        """Parts as inference has them."""
        spans = _spans(p.IntImm(x.shape[axis]), indices_or_sections)
        numbers = [(start.value, size.value) for start, size in spans]  # type: ignore[attr-defined]  # literals stay literals
        return tuple([np.ascontiguousarray(np.take(x, range(a, a + n), axis)) for a, n in numbers])

    @staticmethod
    def legalize(te: Te, x: Tensor, indices_or_sections: Any, axis: int) -> list[Tensor]:
        """One stage for each part."""
        place = axis % x.ndim

        def part(start: p.PrimExpr, size: p.PrimExpr, suffix: str) -> Tensor:
            shape = (*x.shape[:place], size, *x.shape[place + 1 :])
            return te.compute(
                f"T_split_sections{suffix}",
                shape,
                lambda *i: x[(*i[:place], simplify(p.Add(i[place], start)), *i[place + 1 :])],
            )

        return [part(start, size, "") for start, size in _spans(x.shape[place], indices_or_sections)]


def _spans(length: p.PrimExpr, cuts: Any) -> list[tuple[p.PrimExpr, p.PrimExpr]]:
    """Start and length of each part."""
    if isinstance(cuts, int):
        size = simplify(p.FloorDiv(p.Add(length, p.IntImm(cuts - 1)), p.IntImm(cuts)))  # rounded up
        spans: list[tuple[p.PrimExpr, p.PrimExpr]] = []
        for n in range(cuts):
            start = simplify(p.Mul(size, p.IntImm(n)))
            rest = simplify(p.Sub(length, start))
            last = n == cuts - 1
            exact = isinstance(rest, p.IntImm) and isinstance(size, p.IntImm)
            part: p.PrimExpr = (
                p.IntImm(max(0, min(rest.value, size.value))) if exact else rest if last else size  # type: ignore[attr-defined]  # narrowed by type() above
            )
            spans.append((start, part))
        return spans
    places = [p.IntImm(0), *[p.as_prim(cut) for cut in cuts]]
    if isinstance(length, p.IntImm):
        places = [
            p.IntImm(min(cut.value, length.value)) if isinstance(cut, p.IntImm) else cut for cut in places
        ]
    ends = [*places[1:], length]
    return [(a, simplify(p.Sub(b, a))) for a, b in zip(places, ends, strict=True)]


class Repeat(Op, name="relax.repeat"):
    """Each element several times along an axis (numpy.repeat)."""

    data: Tensor = operand("the tensor")
    repeats: int = attr(REQUIRED, "how many times")
    axis: int | None = attr(None, "the axis; the flattened tensor when None")
    fusion = Fusion.BROADCAST
    examples = ("f32[n,4] repeats=2 axis=0 -> f32[n*2,4]",)

    @staticmethod
    def infer(at: Site, data: s.StructInfo, repeats: int, axis: int | None) -> s.StructInfo:
        """The length of the axis multiplied."""
        info = rules.tensor(at, data, "data")
        if info.dims is None:
            return s.TensorStructInfo(None, info.dtype, 1 if axis is None else info.ndim)
        if axis is None:
            return s.TensorStructInfo((simplify(p.Mul(product(info.dims), p.IntImm(repeats))),), info.dtype)
        place = rules.axis(at, axis, len(info.dims))
        dims = list(info.dims)
        dims[place] = simplify(p.Mul(dims[place], p.IntImm(repeats)))
        return s.TensorStructInfo(tuple(dims), info.dtype)

    @staticmethod
    def evaluate(data: Any, repeats: int, axis: int | None) -> Any:
        """numpy.repeat."""
        return np.repeat(data, repeats, axis)

    @staticmethod
    def legalize(te: Te, data: Tensor, repeats: int, axis: int | None) -> Tensor:
        """The element whose index is divided."""
        source = reshape_stage(te, data, (product(data.shape),)) if axis is None else data
        place = 0 if axis is None else axis % data.ndim
        shape = list(source.shape)
        shape[place] = simplify(p.Mul(shape[place], p.IntImm(repeats)))
        return te.compute(
            "T_repeat",
            shape,
            lambda *i: source[(*i[:place], p.FloorDiv(i[place], p.IntImm(repeats)), *i[place + 1 :])],
        )


class Tile(Op, name="relax.tile"):
    """The whole tensor several times along each axis (numpy.tile)."""

    data: Tensor = operand("the tensor")
    repeats: Ints = attr(REQUIRED, "how many times, for each of the last axes")
    fusion = Fusion.BROADCAST
    examples = ("f32[n,4] repeats=[2,1] -> f32[n*2,4]",)

    @staticmethod
    def infer(at: Site, data: s.StructInfo, repeats: Any) -> s.StructInfo:
        """The lengths multiplied, aligned from the right."""
        info = rules.tensor(at, data, "data")
        times = repeats if isinstance(repeats, tuple) else (repeats,)
        if info.dims is None:
            return s.TensorStructInfo(None, info.dtype, max(info.ndim, len(times)) if info.ndim >= 0 else -1)
        return s.TensorStructInfo(_tiled(info.dims, times), info.dtype)

    @staticmethod
    def evaluate(data: Any, repeats: Any) -> Any:
        """numpy.tile."""
        return np.tile(data, repeats)

    @staticmethod
    def legalize(te: Te, data: Tensor, repeats: Any) -> Tensor:
        """The element at the remainder of each index."""
        times = repeats if isinstance(repeats, tuple) else (repeats,)
        shape = _tiled(data.shape, times)
        offset = len(shape) - data.ndim
        return te.compute(
            "T_tile",
            shape,
            lambda *i: data[tuple([p.FloorMod(i[n + offset], dim) for n, dim in enumerate(data.shape)])],
        )


def _tiled(dims: rules.Dims, times: tuple[int, ...]) -> rules.Dims:
    rank = max(len(dims), len(times))
    lengths = (rules.ONE,) * (rank - len(dims)) + dims
    factors = (1,) * (rank - len(times)) + times
    return tuple([simplify(p.Mul(n, p.IntImm(k))) for n, k in zip(lengths, factors, strict=True)])
