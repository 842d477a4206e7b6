// Numbers for people, and the neighbours of a double.

/** `value` with about `digits` significant digits; nothing that is not zero is shown as zero. */
export function shown(value, digits = 4) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return value > 0 ? "∞" : Number.isNaN(value) ? "undefined" : "−∞";
  let text;
  if (size >= 1e9 || size < 1e-4) {
    text = Number(value.toPrecision(digits)).toExponential();
  } else {
    const decimals = digits - 1 - Math.floor(Math.log10(size));
    text = String(Number(value.toFixed(Math.max(decimals, 1)))); // 5095.5 is not 5096
  }
  return text.replaceAll("-", "−").replace("e+", "e");
}

/** A number as a narrow field shows it: whole and short ones exactly, others with six digits. */
export function fieldText(value) {
  const exact = String(value);
  return Number.isInteger(value) || exact.length <= 8 ? exact : String(Number(value.toPrecision(6)));
}

/** The two numbers with as many digits as it takes to tell them apart. */
export function shownApart(a, b, digits = 4) {
  while (digits < 17 && a !== b && shown(a, digits) === shown(b, digits)) digits += 1;
  return [shown(a, digits), shown(b, digits)];
}

export function signed(value, digits = 3) {
  return (value > 0 ? "+" : "") + shown(value, digits);
}

/** A share as per cent; nothing uncertain looks certain. */
export function percent(share) {
  if (Number.isNaN(share)) return "undefined";
  if (share > 0 && share < 0.001) return "< 0.1 %";
  if (share < 1 && share > 0.999) return "> 99.9 %";
  return `${Number((100 * share).toFixed(1))} %`;
}

export function counted(number, singular, plural = `${singular}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? singular : plural}`;
}

const doubleBits = new DataView(new ArrayBuffer(8));

/** The next double above `value`. */
export function nextUp(value) {
  if (value === 0) return Number.MIN_VALUE;
  doubleBits.setFloat64(0, value);
  doubleBits.setBigInt64(0, doubleBits.getBigInt64(0) + (value > 0 ? 1n : -1n));
  return doubleBits.getFloat64(0);
}

/** The next double in the direction of `sign`. */
export function neighbour(value, sign) {
  return sign > 0 ? nextUp(value) : -nextUp(-value);
}

/** The largest of 1, 2 and 5 times a power of ten that is at most `size`. */
export function roundStep(size) {
  const power = 10 ** Math.floor(Math.log10(size));
  const factor = [5, 2, 1].find((candidate) => candidate * power <= size * (1 + 1e-9)) ?? 1;
  return factor * power;
}

/** Round numbers from `low` to `high`, about `count` of them. */
export function ticks(low, high, count) {
  const step = roundStep((high - low) / count);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step && found.length < 50; k += 1) {
    found.push(Number((k * step).toPrecision(12)));
  }
  return found;
}
