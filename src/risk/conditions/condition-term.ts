import type { ConditionFact, ConditionType, ConditionValue } from './condition.ts';
import type { Part } from './condition-operators.ts';

/** A checked part. The type is null after a fault below it, which agrees with every type. */
export interface Term<Input> {
  readonly type: ConditionType | null;
  readonly read: Part<Input>;
  /** Undefined unless the value is known while the condition is compiled. */
  readonly constant: ConditionValue;
  readonly cost: number;
  readonly fact?: ConditionFact<Input>;
}

/** A part of an operator; its value is computed now if those of all its parts are known. */
export function folded<Input>(
  type: ConditionType | null,
  read: Part<Input>,
  parts: readonly Term<Input>[],
): Term<Input> {
  const cost = parts.reduce((sum, part) => sum + part.cost, 1);
  if (type === null || parts.some(({ constant }) => constant === undefined))
    return { type, read, constant: undefined, cost };
  const constant = read(undefined as Input);
  return constant === undefined ? { type, read, constant, cost } : constantOf(type, constant);
}

/** A part whose value is known while the condition is compiled. */
export function constantOf<Input>(type: ConditionType, constant: ConditionValue): Term<Input> {
  return { type, read: () => constant, constant, cost: 0 };
}
