import type { ConditionValue } from './condition.ts';

/** The operators of conditions over values that may be unknown. */

/** Reads one part of a condition from its input. */
export type Part<Input> = (input: Input) => ConditionValue;

export function and<Input>(left: Part<Input>, right: Part<Input>): Part<Input> {
  return (input) => {
    const a = left(input);
    if (a === false) return false;
    const b = right(input);
    if (b === false) return false;
    return a === undefined || b === undefined ? undefined : true;
  };
}

export function or<Input>(left: Part<Input>, right: Part<Input>): Part<Input> {
  return (input) => {
    const a = left(input);
    if (a === true) return true;
    const b = right(input);
    if (b === true) return true;
    return a === undefined || b === undefined ? undefined : false;
  };
}

/** Both sides have the same type. */
export function equals<Input>(left: Part<Input>, right: Part<Input>, isEqual: boolean): Part<Input> {
  return (input) => {
    const a = left(input);
    const b = right(input);
    return a === undefined || b === undefined ? undefined : (a === b) === isEqual;
  };
}

type OfNumbers = (a: number, b: number) => number | boolean;

/** Comparisons and arithmetic. A result that is not finite, such as that of a division by 0, is unknown. */
export const NUMBER_OPERATORS: Readonly<Record<string, OfNumbers>> = {
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '%': (a, b) => a % b,
};

export function ofNumbers<Input>(left: Part<Input>, right: Part<Input>, operate: OfNumbers): Part<Input> {
  return (input) => {
    const a = left(input);
    const b = right(input);
    if (a === undefined || b === undefined) return undefined;
    const value = operate(a as number, b as number);
    return typeof value === 'number' && !Number.isFinite(value) ? undefined : value;
  };
}

export function negated<Input>(part: Part<Input>): Part<Input> {
  return (input) => {
    const value = part(input);
    return value === undefined ? undefined : -(value as number);
  };
}

export function not<Input>(part: Part<Input>): Part<Input> {
  return (input) => {
    const value = part(input);
    return value === undefined ? undefined : !(value as boolean);
  };
}

export function choice<Input>(test: Part<Input>, yes: Part<Input>, no: Part<Input>): Part<Input> {
  return (input) => {
    const value = test(input);
    return value === undefined ? undefined : value === true ? yes(input) : no(input);
  };
}

/** Items are known while the condition is compiled, as those of most list literals are. */
export function inConstants<Input>(item: Part<Input>, items: ReadonlySet<ConditionValue>): Part<Input> {
  return (input) => {
    const value = item(input);
    return value === undefined ? undefined : items.has(value);
  };
}

export function inItems<Input>(item: Part<Input>, list: Part<Input>): Part<Input> {
  return (input) => {
    const value = item(input);
    const items = list(input);
    return value === undefined || items === undefined
      ? undefined
      : (items as readonly ConditionValue[]).includes(value);
  };
}

/** A list literal; unknown when one of its items is. */
export function listOf<Input>(parts: readonly Part<Input>[]): Part<Input> {
  return (input) => {
    const items: ConditionValue[] = [];
    for (const part of parts) {
      const value = part(input);
      if (value === undefined) return undefined;
      items.push(value);
    }
    return items as readonly string[];
  };
}

/** The present item of `exists` and `all`. */
export interface ItemSlot {
  value: ConditionValue;
}

/** `stopsAt`: true for `exists`, false for `all`. */
export function overItems<Input>(list: Part<Input>, slot: ItemSlot, body: Part<Input>, stopsAt: boolean): Part<Input> {
  return (input) => {
    const items = list(input);
    if (items === undefined) return undefined;
    let isKnown = true;
    for (const item of items as readonly (string | number)[]) {
      slot.value = item;
      const value = body(input);
      if (value === stopsAt) return stopsAt;
      if (value === undefined) isKnown = false;
    }
    return isKnown ? !stopsAt : undefined;
  };
}

/** Applies a function to one text or list. */
export function ofOne<Input>(part: Part<Input>, operate: (value: never) => ConditionValue): Part<Input> {
  return (input) => {
    const value = part(input);
    return value === undefined ? undefined : operate(value as never);
  };
}

export function ofTwoTexts<Input>(
  left: Part<Input>,
  right: Part<Input>,
  operate: (a: string, b: string) => boolean,
): Part<Input> {
  return (input) => {
    const a = left(input);
    const b = right(input);
    return a === undefined || b === undefined ? undefined : operate(a as string, b as string);
  };
}

/** Code points, as CEL counts them. */
export function sizeOf(value: string | readonly unknown[]): number {
  if (typeof value !== 'string') return value.length;
  let size = 0;
  for (let at = 0; at < value.length; size++) at += (value.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return size;
}

/** Changes `A` to `Z` only. */
export function lowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
