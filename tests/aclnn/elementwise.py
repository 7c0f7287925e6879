"""Functions that work element by element: one line names the functions, the type rule and the formula.

A rule says in which type the formula is computed and what the output may be:
  same     that of the first tensor, which the output has too
  promote  the common type of all operands
  float    that too, but integers are computed as FLOAT
  truth    any; the output holds 0 and 1
"""
from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np

from cases import Case, Table, Want
from values import DTYPES, Random, Scalar, Tensor, exact, given

TABLE = Table('elementwise')
TENSORS = {'aclTensor'}
MIXED = ('f32', 'f16', 'bf16', 'f64', 'i8', 'i16', 'i32', 'i64', 'u8', 'bool')
FLOATS = ('f32', 'f16', 'bf16', 'f64')


def promote(a: str, b: str) -> str:
    """The common type as torch.promote_types gives it."""
    if a == b:
        return a
    fa, fb = DTYPES[a].is_float, DTYPES[b].is_float
    if fa != fb:
        return a if fa else b
    if fa:
        return 'f32' if {a, b} == {'f16', 'bf16'} else max(a, b, key=lambda t: np.dtype(DTYPES[t].logical).itemsize
                                                         - (t in ('f16', 'bf16')) * 4)
    return str({'int8': 'i8', 'int16': 'i16', 'int32': 'i32', 'int64': 'i64', 'uint8': 'u8', 'bool': 'bool'}[
        np.promote_types(DTYPES[a].numpy, DTYPES[b].numpy).name])


def computing(array, dtype: str) -> np.ndarray:
    """The values in the type of the formula: integers wrap in their own, floats have room in DOUBLE."""
    kind = DTYPES[dtype]
    return np.asarray(array).astype(np.float64 if kind.is_float else kind.numpy)


@dataclass(frozen=True)
class Formula:
    rule: str
    of: object  # called with the operands by their names
    low: float = -4
    high: float = 4
    domain: dict = field(default_factory=dict)  # name -> (low, high), or a tuple of choices
    weak: tuple = ()  # scalars that do not join the promotion
    without: tuple = ()  # types left out: what they mean is not documented
    special: bool = False  # also with NaN and the infinities
    loose: float = 1
    scale: object = None  # like `of`: the size of the terms, where they may cancel each other

    def limits(self, name: str):
        return self.domain.get(name, (self.low, self.high))


def draw_types(r: Random, form, formula: Formula, names: list[str]) -> dict[str, str]:
    """Types for the tensors: mixed ones where they are promoted, else one for all."""
    allowed = {n: [t for t in form.types[n] if t not in formula.without and t[0] != 'c'] for n in names}
    common = [t for t in allowed[names[0]] if all(t in a for a in allowed.values())]
    first = r.pick(common)
    if formula.rule == 'same' or first not in MIXED or r.chance(0.6):
        return dict.fromkeys(names, first)
    types = {n: r.pick([t for t in allowed[n] if t in MIXED]) for n in names}
    if form.in_place and not fits(joined(types.values()), types['self'], formula.rule):
        types = dict.fromkeys(names, types['self'])
    return types


def joined(types) -> str:
    result, *others = types
    for other in others:
        result = promote(result, other)
    return result


def fits(computed: str, out: str, rule: str) -> bool:
    """Whether a result computed in this type may be stored as the other."""
    level = [1 + DTYPES[t].is_float if t != 'bool' else 0 for t in (computed, out)]
    return rule == 'truth' or level[0] <= level[1]


def draw_scalar(r: Random, formula: Formula, name: str, dtype: str, takes_float: bool) -> Scalar:
    limits = formula.limits(name)
    if dtype == 'bool':
        return Scalar(r.int(0, 1), 'bool')
    if not DTYPES[dtype].is_float:
        return Scalar(r.int(math.ceil(max(limits[0], 0 if dtype[0] == 'u' else limits[0])),
                            math.floor(limits[1])), r.pick(['i64', 'i32'] + ['f32'] * takes_float))
    # A value that every type of floats holds: in which one it joins is not documented.
    return Scalar(float(exact(r.real(*limits), 'bf16')), r.pick(['f32', 'f64']))


def draw_tensor(r: Random, formula: Formula, name: str, dtype: str, shape) -> Tensor:
    tensor = r.tensor(dtype, shape, *formula.limits(name))
    if formula.special and DTYPES[dtype].is_float and tensor.data.size and r.chance(0.3):
        odd = r.rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], shape)
        tensor = given(np.where(r.rng.random(shape) < 0.3, odd, tensor.data), dtype)
    return tensor


def make(formula: Formula):
    def case(r: Random, form) -> Case:
        inputs = [n for n in form.arguments if n in form.types and form.types[n] and
                  (n not in form.outs or (form.in_place and n == 'self'))]
        kinds = dict(zip(form.arguments, KINDS[form.name]))
        tensors = [n for n in inputs if kinds[n] == 'aclTensor']
        types = draw_types(r, form, formula, tensors)
        whole = r.shape()
        shapes = {n: whole if i == 0 or formula.rule == 'same' and n not in formula.domain.get('broadcast', ())
                  else r.part(whole) for i, n in enumerate(tensors)}
        computed = joined(types.values())
        values, drawn = {}, {}
        for name in form.arguments:
            if name in tensors:
                drawn[name] = draw_tensor(r, formula, name, types[name], shapes[name])
                values[name] = drawn[name].data
            elif kinds[name] == 'aclScalar':
                drawn[name] = draw_scalar(r, formula, name, computed, 'f32' in (form.types[name] or 'f32'))
                values[name] = np.float64(drawn[name].value)
                if formula.rule == 'truth' and computed in ('f16', 'bf16') and values['self'].size:
                    near = float(values['self'].reshape(-1)[0]) * (1 + 1e-4)  # is that number again, once it is rounded
                    drawn[name], values[name] = Scalar(near, 'f64'), np.float64(exact(near, computed))
            elif name not in form.outs:
                drawn[name] = values[name] = r.pick(formula.domain[name])
        return finish(r, form, formula, drawn, values, computed)
    return case


def finish(r: Random, form, formula: Formula, drawn: dict, values: dict, computed: str) -> Case:
    """The output's type, and the formula's value for it."""
    if formula.rule == 'float' and not DTYPES[computed].is_float:
        computed = 'f32'
        join_as_integers(drawn)
    if form.in_place:
        out = drawn['self']
        if formula.rule == 'float' and not DTYPES[out.dtype].is_float:
            return make(formula)(r, form)  # drawn again: an integer cannot hold the result
    else:
        allowed = form.types['out'] or ('bool',)
        wider = [t for t in allowed if t in MIXED and t[0] != 'c' and fits(computed, t, formula.rule)]
        kept = computed if computed in allowed else r.pick(wider)
        dtype = 'bool' if formula.rule == 'truth' else kept
        if wider and formula.rule != 'same' and r.chance(0.2):
            dtype = r.pick(wider)
        if computed == 'f32' and dtype == 'f64' and formula.rule == 'float':
            computed = 'f64' if not any(DTYPES[t.dtype].is_float for t in drawn.values()
                                        if isinstance(t, Tensor)) else computed
        out = None
    with np.errstate(all='ignore'):
        within = 'f64' if formula.rule == 'truth' else computed
        operands = {n: computing(v, within) if isinstance(v, (np.ndarray, np.float64)) else v
                    for n, v in values.items()}
        value = np.asarray(formula.of(**operands))
        value = value if formula.rule == 'truth' else value.astype(computing(0, computed).dtype)
        sizes = {n: np.abs(computing(v, 'f64')) for n, v in operands.items()} if formula.scale else {}
        scale = formula.scale(**sizes) if formula.scale else 0.1
    if out is None:
        drawn['out'] = Tensor(dtype, value.shape)
        if DTYPES[dtype].is_float and not DTYPES[computed].is_float:
            join_as_integers(drawn)
    arguments = [drawn[n] for n in form.arguments]
    place = form.arguments.index('self' if form.in_place else 'out')
    final = exact(value, computed) if computed != arguments[place].dtype else value
    return Case(arguments, {place: Want(final, scale, '' if formula.rule == 'truth' else computed, formula.loose)})


def join_as_integers(drawn: dict):
    """A whole FLOAT scalar joins integers only where the output is an integer too."""
    for name, value in drawn.items():
        if isinstance(value, Scalar) and DTYPES[value.dtype].is_float:
            drawn[name] = Scalar(value.value, 'i64')


KINDS: dict[str, list[str]] = {}  # the C types of each function's arguments; set by oracle.py


def add(names: str, rule: str, of, *limits, errors: str = '', **more):
    TABLE.add(names, make(Formula(rule, of, *limits, **more)), errors, broadcasts=True)


def each(function):
    return np.vectorize(function, otypes=[np.float64])


def pair(name: str) -> str:
    """A function and its form in place."""
    return f'{name} Inplace{name}'


sigmoid = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731
softplus = lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))  # noqa: E731
erf = each(math.erf)
gelu = lambda x: x / 2 * (1 + erf(x / math.sqrt(2)))  # noqa: E731
gelu_tanh = lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))  # noqa: E731

# --- of one operand
add('Abs', 'same', lambda self: np.abs(self), special=True)
add(pair('Neg'), 'same', lambda self: -self, special=True)
add('Sign', 'same', lambda self: np.sign(self if self.dtype != bool else self.astype(int)))
for name, of in {'Floor': np.floor, 'Ceil': np.ceil, 'Round': np.rint, 'Trunc': np.trunc}.items():
    add(pair(name), 'same', lambda self, of=of: of(self) if self.dtype.kind == 'f' else self, special=True)
add(pair('Frac'), 'same', lambda self: self - np.trunc(self) if self.dtype.kind == 'f' else self * 0)
for name, of, *limits in [
        ('Sqrt', np.sqrt, 0, 9), ('Rsqrt', lambda x: 1 / np.sqrt(x), 0.1, 9), ('Reciprocal', lambda x: 1 / x),
        ('Exp', np.exp), ('Exp2', np.exp2), ('Expm1', np.expm1), ('Log', np.log, 0, 9), ('Log2', np.log2, 0, 9),
        ('Log10', np.log10, 0, 9), ('Log1p', np.log1p, -1, 9), ('Sin', np.sin), ('Cos', np.cos),
        ('Tan', np.tan, -1.4, 1.4), ('Asin', np.arcsin, -1, 1), ('Acos', np.arccos, -1, 1), ('Atan', np.arctan),
        ('Sinh', np.sinh), ('Cosh', np.cosh), ('Asinh', np.arcsinh), ('Acosh', np.arccosh, 1, 9),
        ('Atanh', np.arctanh, -0.9, 0.9), ('Erf', erf), ('Erfc', each(math.erfc)), ('Tanh', np.tanh),
        ('Sigmoid', sigmoid)]:
    add(pair(name), 'float', lambda self, of=of: of(self), *limits, special=True)
add(pair('LogicalNot'), 'truth', lambda self: self == 0, special=True)
add('BitwiseNot', 'same', lambda self: ~self)
add('IsFinite', 'truth', lambda self: np.isfinite(self), special=True)
add('IsPosInf', 'truth', lambda self: self == np.inf, special=True)
add('IsNegInf', 'truth', lambda self: self == -np.inf, special=True)
add(pair('NanToNum'), 'same', lambda self, nan, posinf, neginf: np.nan_to_num(
    self, nan=nan, posinf=posinf, neginf=neginf), special=True,
    domain={'nan': (0.0, 1.5), 'posinf': (7.0, 9.5), 'neginf': (-7.0, -9.5)})



def inverse_erf(value: float) -> float:
    """A normal quantile, with a step of Newton's method for the digits that it loses near 0."""
    if not abs(value) < 1:
        return value * math.inf if abs(value) == 1 else math.nan
    x = NormalDist().inv_cdf((value + 1) / 2) / math.sqrt(2)
    return x - (math.erf(x) - value) * math.sqrt(math.pi) / 2 * math.exp(x * x)


add(pair('Erfinv'), 'float', lambda self: each(inverse_erf)(self), -0.999, 0.999, special=True)
add(pair('Sinc'), 'float', lambda self: np.sinc(self), special=True)


def log_odds(input, eps):
    x = input if eps < 0 else np.clip(input, eps, 1 - eps)
    return np.log(x / (1 - x))


add('Logit', 'float', log_odds, -0.2, 1.2, domain={'eps': (-1.0, 0.0625, 0.25)}, special=True, loose=2)


@TABLE.case(pair('RoundDecimals'))
def round_decimals(r: Random, form) -> Case:
    dtype = r.pick(form.types['self'])
    x, floats = r.tensor(dtype, r.shape(), 0 if dtype[0] == 'u' else -90, 90), DTYPES[dtype].is_float
    places = r.pick((-1, 0, 1, 2) if floats else (0, 1))
    value = x.data.astype(np.float64 if dtype == 'f64' else np.float32) if floats else x.data
    factor = value.dtype.type(10) ** abs(places)
    if floats:
        value = np.rint(value * factor) / factor if places >= 0 else np.rint(value / factor) * factor
    return Case([x, places] if form.in_place else [x, places, Tensor(dtype, x.shape)],
                {0 if form.in_place else 2: Want(value)})


# --- activations
add(pair('Relu'), 'same', lambda self: np.maximum(self, self.dtype.type(0)), special=True)
add('LogSigmoid', 'same', lambda self: -softplus(-self))
add('Silu', 'same', lambda self: self * sigmoid(self))
add(pair('Mish'), 'same', lambda self: self * np.tanh(softplus(self)))
add('Gelu', 'same', lambda self: gelu(self))
add('GeluV2', 'same', lambda x, approximate: gelu_tanh(x) if approximate else gelu(x), domain={'approximate': (0, 1)})
add(pair('Hardswish'), 'same', lambda self: self * np.clip(self / 6 + 0.5, 0, 1), -6, 6)
add(pair('Hardsigmoid'), 'same', lambda self: np.clip(self / 6 + 0.5, 0, 1), -6, 6)
SELU = 1.0507009873554805, 1.6732632423543772
add(pair('Selu'), 'same', lambda self: SELU[0] * np.where(self > 0, self, SELU[1] * np.expm1(np.minimum(self, 0))))
add('Swish', 'same', lambda self, betaOptional: self * sigmoid(betaOptional * self))
add(pair('LeakyRelu'), 'same', lambda self, negativeSlope: np.where(self > 0, self, self * negativeSlope))
add(pair('Elu'), 'same', lambda self, alpha, scale, inputScale: scale * np.where(
    self > 0, self, alpha * np.expm1(inputScale * np.minimum(self, 0))),
    domain={n: (0.5, 2) for n in ('alpha', 'scale', 'inputScale')})
add(pair('Celu'), 'same', lambda self, alpha: np.where(self > 0, self, alpha * np.expm1(np.minimum(self, 0) / alpha)),
    domain={'alpha': (0.5, 2)})
add('Softplus', 'same', lambda self, beta, threshold: np.where(
    self * beta > threshold, self, softplus(self * beta) / beta), domain={'beta': (0.5, 2), 'threshold': (3.5, 20)},
    loose=2)
add('Softshrink', 'same', lambda self, lambd: np.sign(self) * np.maximum(np.abs(self) - lambd, 0),
    domain={'lambd': (0, 2)})
add('Hardshrink', 'same', lambda self, lambd: np.where(np.abs(self) > lambd, self, 0), domain={'lambd': (0, 2)})
add(pair('Threshold'), 'same', lambda self, threshold, value: np.where(self > threshold, self, value))

add('FastGelu', 'same', lambda self: self * sigmoid(1.702 * self))

# --- arithmetic of two
WHOLE = dict(low=-100, high=100)
TERMS = dict(WHOLE, scale=lambda self, other, alpha: self + other + alpha * np.maximum(self, other))
add(f'{pair("Add")} {pair("Adds")}', 'promote', lambda self, other, alpha: self + alpha * other, **TERMS)
add(f'{pair("Sub")} {pair("Subs")}', 'promote', lambda self, other, alpha: self - alpha * other, **TERMS,
    without=('bool',))
add('AddV3', 'promote', lambda self, other, alpha: self + alpha * other, **TERMS)
add(pair('AddRelu'), 'promote', lambda self, other, alpha: np.maximum(self + alpha * other, 0), **TERMS)
add('Rsub Rsubs', 'promote', lambda self, other, alpha: other - alpha * self, **TERMS, without=('bool',))
add(f'{pair("Mul")} {pair("Muls")}', 'promote', lambda self, other: self * other, **WHOLE)
add(f'{pair("Div")} {pair("Divs")}', 'float', lambda self, other: self / other, special=True,
    domain={'other': (1, 4)})


def div_mod(self, other, mode):
    exactly = self / other if mode == 0 else np.true_divide(self, other)
    return exactly if mode == 0 else [np.trunc, np.floor][mode - 1](exactly)


def make_div_mod(r: Random, form) -> Case:
    mode = r.pick((0, 1, 2))
    rule = 'promote' if mode else 'float'
    formula = Formula(rule, div_mod, domain={'other': (1, 4), 'mode': (mode,)}, without=('bool',))
    return make(formula)(r, form)


TABLE.add(f'{pair("DivMod")} {pair("DivMods")}', make_div_mod, broadcasts=True)
POSITIVE = {'other': (1, 4)}
add(f'{pair("FloorDivide")} {pair("FloorDivides")}', 'promote', lambda self, other: np.floor_divide(self, other),
    domain=POSITIVE, without=('bool', 'f16', 'bf16'))
add(f'{pair("RemainderTensorTensor")} {pair("RemainderTensorScalar")} RemainderScalarTensor', 'promote',
    lambda self, other: np.remainder(self, other), domain=POSITIVE, without=('bool',))
add(f'{pair("FmodTensor")} {pair("FmodScalar")}', 'promote', lambda self, other: np.fmod(self, other),
    domain=POSITIVE, without=('bool',))
add('Maximum', 'promote', lambda self, other: np.maximum(self, other), special=True)
add('Minimum', 'promote', lambda self, other: np.minimum(self, other), special=True)
add(pair('Atan2'), 'float', lambda self, other: np.arctan2(self, other), special=True)
add(f'{pair("PowTensorScalar")} {pair("PowTensorTensor")} PowScalarTensor', 'promote',
    lambda self, exponent: np.power(self, exponent), domain={'self': (1, 4), 'exponent': (0, 3)},
    without=('bool',), loose=4)
def times_log(self, other):
    return np.where((self == 0) & ~np.isnan(other), 0, self * np.log(other))


add(f'{pair("XLogYTensor")} {pair("XLogYScalarOther")} XLogYScalarSelf', 'float', times_log, domain={'other': (0, 4)},
    special=True)
add('LogAddExp', 'promote', lambda self, other: np.logaddexp(self, other), -30, 30, special=True)
add('LogAddExp2', 'promote', lambda self, other: np.logaddexp2(self, other), -30, 30, special=True)
INTEGRAL = dict(low=-100, high=100)
add('Gcd', 'promote', lambda self, other: np.gcd(self, other), **INTEGRAL)
add(f'{pair("BitwiseAndTensor")} {pair("BitwiseAndScalar")}', 'promote', lambda self, other: self & other, **INTEGRAL)
add('BitwiseOrTensor BitwiseOrScalar', 'promote', lambda self, other: self | other, **INTEGRAL)
add(f'{pair("BitwiseXorTensor")} {pair("BitwiseXorScalar")}', 'promote', lambda self, other: self ^ other, **INTEGRAL)

# --- comparisons
for name, of in {'Eq': np.equal, 'Ne': np.not_equal, 'Gt': np.greater, 'Ge': np.greater_equal,
                 'Lt': np.less, 'Le': np.less_equal}.items():
    add(f'{pair(name + "Tensor")} {pair(name + "Scalar")}', 'truth', lambda self, other, of=of: of(self, other),
        special=True)


def close(self, other, rtol, atol, equalNan):
    near = np.abs(self - other) <= atol + rtol * np.abs(other)
    return (self == other) | (near & np.isfinite(self) & np.isfinite(other)) | (equalNan & np.isnan(self) & np.isnan(other))


add('IsClose', 'truth', close, special=True,
    domain={'rtol': (0.0, 0.25), 'atol': (0.0, 0.5), 'equalNan': (False, True)})
add(pair('LogicalAnd'), 'truth', lambda self, other: np.logical_and(self, other))
add(pair('LogicalOr'), 'truth', lambda self, other: np.logical_or(self, other))
add('LogicalXor', 'truth', lambda self, other: np.logical_xor(self, other))

# --- of three
LIMITS = {'clipValueMin': (-3, 0), 'clipValueMax': (0, 3)}


def add_bounded(names: str, of, **more):
    """Also whole numbers between fractions, where a result of floats is asked for."""
    plain = make(Formula('same', of, domain=LIMITS, **more))

    @TABLE.case(names, broadcasts=True)
    def case(r: Random, form) -> Case:
        whole = [t for t in form.types['self'] if not DTYPES[t].is_float]
        if form.in_place or not whole or r.chance(0.8):
            return plain(r, form)
        x = r.tensor(r.pick(whole), r.shape())
        bounds = {n: Scalar(r.int(*LIMITS[n]) + 0.5, r.pick(['f32', 'f64'])) for n in form.arguments if n in LIMITS}
        value = of(x.data.astype(float), **{n: bound.value for n, bound in bounds.items()})
        return Case([x, *bounds.values(), Tensor(r.pick(['f32', 'f64']), x.shape)], {1 + len(bounds): value})


clip = lambda self, clipValueMin, clipValueMax: np.clip(self, clipValueMin, clipValueMax)  # noqa: E731
clamp_min = lambda self, clipValueMin: np.maximum(self, clipValueMin)  # noqa: E731
clamp_max = lambda self, clipValueMax: np.minimum(self, clipValueMax)  # noqa: E731
add_bounded('Clamp', clip)
add(pair('Hardtanh'), 'same', clip, domain=LIMITS)
add_bounded('ClampMin', clamp_min, special=True)
add_bounded(pair('ClampMax'), clamp_max, special=True)
SPREAD = dict(LIMITS, broadcast=('clipValueMin', 'clipValueMax'))
add('ClampTensor', 'promote', clip, domain=SPREAD)
add(pair('ClampMinTensor'), 'promote', clamp_min, special=True)
add(pair('ClampMaxTensor'), 'promote', clamp_max, special=True)
add(pair('Addcmul'), 'promote', lambda self, tensor1, tensor2, value: self + value * tensor1 * tensor2, loose=2,
    scale=lambda self, tensor1, tensor2, value: self + value * tensor1 * tensor2)
add(pair('Addcdiv'), 'promote', lambda self, tensor1, tensor2, value: self + value * tensor1 / tensor2,
    domain={'tensor2': (1, 4)}, loose=2, scale=lambda self, tensor1, tensor2, value: self + value * tensor1 / tensor2)
add(f'{pair("Lerp")} {pair("Lerps")}', 'same', lambda self, end, weight: self + weight * (end - self),
    domain={'weight': (0, 1), 'broadcast': ('end',)}, loose=2, scale=lambda self, end, weight: self + end)


# --- complex numbers: the same functions, of ACL_COMPLEX64
def complex_operand(r: Random, name: str, shape) -> Tensor:
    x = r.tensor('c64', shape, 0.3, 2)
    if name == 'condition':
        return r.tensor('bool', shape)
    return given(np.where(r.rng.random(shape) < 0.1, 1, x.data * r.pick([1, -1])), 'c64')


ALONE = {'Neg': np.negative, 'Sqrt': np.sqrt, 'Rsqrt': lambda x: 1 / np.sqrt(x), 'Reciprocal': lambda x: 1 / x,
         'Exp': np.exp, 'Exp2': lambda x: np.exp(x * np.log(2)), 'Expm1': np.expm1, 'Log': np.log, 'Log2': lambda x: np.log(x) / np.log(2),
         'Log10': np.log10, 'Log1p': np.log1p, 'Sin': np.sin, 'Cos': np.cos, 'Tan': np.tan, 'Asin': np.arcsin,
         'Acos': np.arccos, 'Atan': np.arctan, 'Sinh': np.sinh, 'Cosh': np.cosh, 'Tanh': np.tanh, 'Asinh': np.arcsinh,
         'Acosh': np.arccosh, 'Atanh': np.arctanh, 'Sigmoid': sigmoid, 'Silu': lambda x: x * sigmoid(x), 'Abs': np.abs, 'AngleV2': np.angle,
         'Sign': lambda x: x / np.abs(x), 'Sinc': np.sinc, 'LogicalNot': np.logical_not, 'IsFinite': np.isfinite}
TWO = {'Add': lambda a, b, p: a + p * b, 'Sub': lambda a, b, p: a - p * b, 'Rsub': lambda a, b, p: b - p * a,
       'Mul': lambda a, b: a * b, 'Div': lambda a, b: a / b, 'PowTensorTensor': lambda a, b: a ** b,
       'EqTensor': np.equal, 'NeTensor': np.not_equal, 'LogicalAnd': np.logical_and, 'LogicalOr': np.logical_or,
       'LogicalXor': np.logical_xor, 'LogAddExp': lambda a, b: np.log(np.exp(a) + np.exp(b)),
       'LogAddExp2': lambda a, b: np.log2(2 ** a + 2 ** b)}
THREE = {'SWhere': lambda c, a, b: np.where(c, a, b), 'Lerp': lambda a, b, w: a + w * (b - a),
         'Addcmul': lambda a, b, c, p: a + p * b * c, 'Addcdiv': lambda a, b, c, p: a + p * b / c}


def complex_case(r: Random, form, of) -> Case:
    shape = r.shape()
    drawn, values = [], []
    for name, kind in zip(form.arguments, KINDS[form.name]):
        if kind == 'aclScalar':
            number = complex(r.int(-3, 3), r.int(-3, 3))
            drawn.append(Scalar(number, r.pick(['c64', 'c128'])))
            values.append(number)
        elif name not in form.outs:
            drawn.append(complex_operand(r, name, shape if not values else r.part(shape)))
            values.append(drawn[-1].data.astype(np.complex128) if drawn[-1].dtype == 'c64' else drawn[-1].data)
    with np.errstate(all='ignore'):
        value = np.broadcast_to(of(*values), shape)
    dtype = 'bool' if value.dtype == bool else 'f32' if value.dtype == np.float64 else 'c64'
    return Case([*drawn, Tensor(dtype, shape)], {len(drawn): Want(value, 20.0)})


def with_complex(row, of):
    real = row.make
    row.make = lambda r, form: complex_case(r, form, of) if 'c64' in str(form.types) and r.chance(0.2) else real(r, form)


@TABLE.case('SWhere', broadcasts=True)
def where(r: Random, form) -> Case:
    types = [r.pick([t for t in form.types[n] if t in MIXED]) for n in ('self', 'other')]
    types = types if r.chance() else [r.pick(form.types['self'])] * 2
    shape = r.shape()
    condition = r.tensor(r.pick(form.types['condition']), shape, 0, 2)
    self, other = [r.tensor(t, r.part(shape)) for t in types]
    both = [np.broadcast_to(t.data, np.broadcast_shapes(shape, t.shape)) for t in (self, other)]
    value = np.where(condition.data != 0, *both)
    return Case([condition, self, other, Tensor(joined(types), value.shape)], {3: value})


@TABLE.case('Sum')
def sum_of_tensors(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['tensors']), r.shape(1, 4)
    parts = [r.tensor(dtype, shape if i == 0 else r.part(shape)) for i in range(r.int(1, 4))]
    value = sum(np.broadcast_to(p.data, shape).astype(np.float64) for p in parts)
    scale = sum(np.abs(np.broadcast_to(p.data, shape).astype(np.float64)) for p in parts)
    return Case([parts, Tensor(dtype, shape)], {1: Want(value, scale, loose=len(parts))})


@TABLE.case('MaxN MinN')
def extreme_of_tensors(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['tensors']), r.shape(1, 4)
    parts = [r.tensor(dtype, shape if i == 0 else r.part(shape)) for i in range(r.int(1, 4))]
    if DTYPES[dtype].is_float and r.chance(0.3):
        parts[0] = given(np.where(r.rng.random(shape) < 0.1, np.nan, parts[0].data), dtype)
    extreme = np.maximum if form.name == 'MaxN' else np.minimum
    value = parts[0].data
    for part in parts[1:]:
        value = extreme(value, part.data)
    return Case([parts, Tensor(dtype, shape)], {1: value})


@TABLE.case('InplaceMaskedFillScalar')
def masked_fill(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['self']), r.shape()
    x, mask = r.tensor(dtype, shape), r.tensor('bool', r.part(shape))
    number = r.int(0, 1) if dtype == 'bool' else r.int(0 if dtype[0] == 'u' else -3, 3)
    number = complex(number, r.int(-3, 3)) if dtype[0] == 'c' else number
    value = Scalar(number, 'f32' if dtype == 'bf16' else dtype)
    return Case([x, mask, value], {0: np.where(np.broadcast_to(mask.data, shape), x.data.dtype.type(number), x.data)})


@TABLE.case('InplaceMaskedFillTensor')
def masked_fill_tensor(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['self']), r.shape()
    x, mask = r.tensor(dtype, shape), r.tensor('bool', r.part(shape))
    value = r.tensor('f32' if dtype in ('i8', 'i16', 'i32', 'i64') and r.chance() else dtype, r.pick([(), (1,)]))
    of_type = exact(np.trunc(value.data), dtype) if value.dtype != dtype else value.data
    return Case([x, mask, value], {0: np.where(np.broadcast_to(mask.data, shape), of_type.reshape(()), x.data)})


@TABLE.case('Prelu')
def prelu(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['self']), r.shape()
    weight = r.tensor(dtype, (r.pick([1, shape[1]]) if len(shape) > 1 and shape[1] else 1,))
    x = r.tensor(dtype, shape)
    slope = weight.data.astype(np.float64)
    slope = slope.reshape([-1] + [1] * (len(shape) - 2)) if len(shape) > 1 else slope.reshape(())
    value = np.where(x.data >= 0, x.data, slope * x.data)
    return Case([x, weight, Tensor(dtype, shape)], {2: value})


add('AngleV2', 'float', lambda self: np.angle(self))
add('Signbit', 'truth', lambda self: self < 0, special=True)
add('LeftShift LeftShifts', 'promote', lambda self, other: self << other, low=0, high=7, without=('bool', 'i8', 'u8', 'u16', 'u32', 'u64'))
add('RightShift', 'promote', lambda self, other: self >> other, low=0, high=7, without=('bool', 'i8', 'u8', 'u16', 'u32', 'u64'))
for name, of in {**ALONE, **TWO, **THREE}.items():
    with_complex(TABLE.rows[name], of)


@TABLE.case('LogSigmoidForward', without='shape')
def log_sigmoid(r: Random, form) -> Case:
    x = r.tensor(r.pick(form.types['self']), r.shape(), -9, 9)
    value = -softplus(-x.data.astype(np.float64))
    return Case([x, Tensor(x.dtype, x.shape), r.tensor(x.dtype, (0,))], {1: value})


OF_PARTS = {'f16': 'c32', 'f32': 'c64', 'f64': 'c128'}


@TABLE.case('Complex', broadcasts=True)
def complex_of(r: Random, form) -> Case:
    part, shape = r.pick(form.types['real']), r.shape()
    real, imaginary = r.tensor(part, shape), r.tensor(part, r.part(shape))
    value = real.data + 1j * np.broadcast_to(imaginary.data, shape)
    return Case([real, imaginary, Tensor(OF_PARTS[part], shape)], {2: value})


@TABLE.case('Polar', broadcasts=True)
def polar(r: Random, form) -> Case:
    part, shape = r.pick(form.types['input']), r.shape()
    size, angle = r.tensor(part, r.part(shape)), r.tensor(part, shape, -9, 9)
    value = size.data.astype(np.float64) * np.exp(1j * angle.data.astype(np.float64))
    return Case([size, angle, Tensor(OF_PARTS[part], shape)], {2: Want(value, 9.0)})


# --- conversion and filling
@TABLE.case('Cast')
def cast(r: Random, form) -> Case:
    source, to = r.pick(form.types['self']), r.pick(form.types['out'])
    x = r.tensor(source, r.shape(), 0 if to[0] == 'u' else -90, 90)
    if 'c' in (source[0], to[0]):
        value = x.data if to[0] == 'c' or to == 'bool' else x.data.real
        value = np.trunc(value.astype(np.float64)) if to != 'bool' and to[0] != 'c' and not DTYPES[to].is_float else value
        return Case([x, to, Tensor(to, x.shape)], {2: value != 0 if to == 'bool' else value})
    value = np.trunc(x.data.astype(np.float64)) if not DTYPES[to].is_float and to != 'bool' else x.data
    return Case([x, to, Tensor(to, x.shape)], {2: value != 0 if to == 'bool' else value})


@TABLE.case('InplaceCopy', broadcasts=True)
def inplace_copy(r: Random, form) -> Case:
    source, to = r.pick(form.types['src']), r.pick(form.types['out' if 'out' in form.types else 'self'])
    out = r.tensor(to, r.shape(), 0, 9)
    part = r.part(out.shape)
    if r.chance(0.1):  # as many elements in another shape
        part = (out.data.size,)
    x = r.tensor(source, part, 0 if to[0] == 'u' else -90, 90)
    value = x.data.reshape(out.shape) if part == (out.data.size,) else np.broadcast_to(x.data, out.shape)
    value = value.real if source[0] == 'c' and to[0] != 'c' and to != 'bool' else value
    value = value if to[0] == 'c' or to == 'bool' else np.trunc(value.astype(np.float64)) if not DTYPES[to].is_float and to != 'bool' else value
    return Case([out, x], {0: value != 0 if to == 'bool' else value})


@TABLE.case('InplaceFillScalar')
def fill(r: Random, form) -> Case:
    dtype = r.pick(form.types['self'])
    out, value = r.tensor(dtype, r.shape(), 0, 9), r.int(0, 1 if dtype == 'bool' else 100)
    return Case([out, Scalar(value, r.pick(['f32', 'i64']))], {0: np.full(out.shape, value)})


@TABLE.case('InplaceFillTensor')
def fill_tensor(r: Random, form) -> Case:
    dtype = r.pick(form.types['self'])
    out, own = r.tensor(dtype, r.shape(), 0, 9), r.chance(0.5) or dtype == 'bool'
    value = r.tensor(dtype if own else r.pick(['f32', 'i64', 'u8']), r.pick([(), (1,)]), 0, 100)
    if value.dtype == 'f32' and not own:
        value = given(np.trunc(value.data), 'f32')
    return Case([out, value], {0: np.full(out.shape, exact(value.data, dtype).reshape(()))})


@TABLE.case('InplaceZero InplaceOne')
def constant(r: Random, form) -> Case:
    out = r.tensor(r.pick(form.types['self']), r.shape(), 0, 9)
    return Case([out], {0: np.full(out.shape, int(form.name == 'InplaceOne'))})


@TABLE.case('InplaceFillDiagonal')
def fill_diagonal(r: Random, form) -> Case:
    dtype, wrap = r.pick(form.types['self']), r.chance()
    shape = (r.int(1, 5),) * r.int(3, 4) if r.chance(0.3) else (r.int(0, 20), r.int(0, 4))
    out = r.tensor(dtype, shape, 0, 9)
    number = r.int(0, 1) if dtype == 'bool' else r.int(0, 9)
    value = np.array(out.data)
    if value.size:
        np.fill_diagonal(value, number, wrap=wrap)
    return Case([out, Scalar(number, 'i64'), wrap], {0: value})


@TABLE.case('Equal', without='shape')
def tensors_equal(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['self']), r.shape()
    a = r.tensor(dtype, shape)
    other = np.array(a.data)
    if other.size and r.chance(0.3):
        other[tuple(r.int(0, n - 1) for n in shape)] = 1 if dtype == 'bool' else 9
    b = given(other, dtype) if r.chance(0.8) else r.tensor(dtype, r.shape())
    same = a.shape == b.shape and bool(np.all(a.data == b.data))
    out = r.pick([(), (1,)])
    return Case([a, b, Tensor('bool', out)], {2: np.full(out, same)})
