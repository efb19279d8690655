import * as z from 'zod';

/** Parts of the schema of a policy file, with the messages that people read. */

export const fields = <Shape extends z.core.$ZodLooseShape>(shape: Shape) => z.strictObject(shape, 'must be an object');
export const amount = (min: number, max: number) => {
  const message = `must be a number from ${min} to ${max}`;
  return z.number(message).min(min, message).max(max, message);
};
export const writtenText = (max: number) => {
  const message = `must be a text of 1 to ${max} characters`;
  return z.string(message).min(1, message).max(max, message);
};
export const list = <Item extends z.ZodType>(item: Item, max: number) =>
  z.array(item, 'must be a list').max(max, `must have at most ${max} items`);
export const byName = <Key extends z.core.$ZodRecordKey, Value extends z.ZodType>(
  key: Key,
  value: Value,
  max: number,
) =>
  z
    .record(key, value, 'must be an object')
    .refine((given) => Object.keys(given).length <= max, { error: `must have at most ${max} names`, abort: true });
