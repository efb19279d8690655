import type { CompiledCondition, ConditionNames, ConditionType, ConditionValue } from '../conditions/condition.ts';
import { compileCondition } from '../conditions/compile-condition.ts';
import { countingNames } from '../conditions/counting-names.ts';
import { counterId } from '../conditions/decision-facts.ts';
import type { DecisionInput } from '../conditions/decision-input.ts';
import { closest } from '../../kernel/closest-name.ts';
import { childPointer } from '../../kernel/json-pointer.ts';
import type { CounterKind, CounterWindow } from '../history.ts';
import { typesOf } from './attributes.ts';
import {
  type CounterDeclaration,
  type CounterDeclarations,
  COUNTERS_MAX,
  counterText,
  type Declarations,
} from './counter-declarations.ts';
import type { PolicyNote } from './policy-document.ts';
import { quoted } from './policy-names.ts';

/** Checks and compiles the counters of a policy. Source: contract, 6.10. */

/** Subjects that are no facts. */
const SUBJECTS = ['account', 'device', 'session', 'ip', 'network', 'customer'] as const;
export type CounterSubject = (typeof SUBJECTS)[number];

/** Whom or what a counter reads from an event. */
export type CounterPart =
  | { readonly kind: 'subject'; readonly subject: CounterSubject }
  | { readonly kind: 'entity'; readonly name: string }
  | { readonly kind: 'fact'; read(input: DecisionInput): ConditionValue };

export interface CompiledCounter {
  /** See `EventCounter`. */
  readonly id: number;
  readonly kind: CounterKind;
  readonly window: CounterWindow;
  readonly by: CounterPart;
  readonly of: CounterPart | null;
  readonly when: CompiledCondition<DecisionInput> | null;
}

type Names = ConditionNames<DecisionInput>;

/**
 * Skips a counter that cannot be compiled, and those beyond the most that a customer has. A policy file is checked before, but a thread of
 * another version may have checked it.
 */
export function compileCounters({ attributes, counters }: Declarations): readonly CompiledCounter[] {
  const declared = Object.entries(counters).slice(0, COUNTERS_MAX);
  if (declared.length === 0) return [];
  const names = countingNames(typesOf(attributes));
  return declared.flatMap(([name, one]) => {
    const made = compileOne(name, one, names);
    return made.kind === 'ok' ? [made.counter] : [];
  });
}

/** Returns what is wrong with the counters `own`, which stand at `pointer`. `declared`: all that apply there. */
export function counterFaults(declared: Declarations, own: CounterDeclarations, pointer: string): PolicyNote[] {
  const count = Object.keys(declared.counters).length;
  if (count > COUNTERS_MAX)
    return [
      { pointer, message: `${count} counters apply here, with those of the top level; ${COUNTERS_MAX} are the most` },
    ];
  const names = countingNames(typesOf(declared.attributes));
  return Object.entries(own).flatMap(([name, one]) => {
    const made = compileOne(name, one, names);
    const faults = made.kind === 'ok' ? [] : made.faults;
    return faults.map(({ part, message }) => ({ pointer: childPointer(childPointer(pointer, name), part), message }));
  });
}

interface PartFault {
  readonly part: 'by' | 'of' | 'when';
  readonly message: string;
}

type Compiled =
  | { readonly kind: 'ok'; readonly counter: CompiledCounter }
  | { readonly kind: 'faults'; readonly faults: readonly PartFault[] };

const TEXT_OR_NUMBER: readonly ConditionType[] = ['text', 'number'];
const NUMBER: readonly ConditionType[] = ['number'];

function compileOne(name: string, declared: CounterDeclaration, names: Names): Compiled {
  const { kind, window } = declared;
  const faults: PartFault[] = [];
  const read = (part: 'by' | 'of', text: string, types: readonly ConditionType[]): CounterPart | null => {
    const found = partOf(text, part, types, names);
    if (typeof found !== 'string') return found;
    faults.push({ part, message: found });
    return null;
  };
  const by = read('by', declared.by, TEXT_OR_NUMBER);
  const of = declared.of === null ? null : read('of', declared.of, kind === 'sum' ? NUMBER : TEXT_OR_NUMBER);
  const when = declared.when === null ? null : compileCondition(declared.when, names);
  if (when?.kind === 'faults')
    for (const { line, column, message } of when.faults)
      faults.push({ part: 'when', message: `line ${line}, column ${column}: ${message}` });
  if (by === null || faults.length > 0) return { kind: 'faults', faults };
  const id = counterId(name, counterText(declared));
  const condition = when?.kind === 'ok' ? when.condition : null;
  return { kind: 'ok', counter: { id, kind, window, by, of, when: condition } };
}

/** Returns the part, or why it cannot be used. */
function partOf(text: string, part: 'by' | 'of', types: readonly ConditionType[], names: Names): CounterPart | string {
  const takesText = types.includes('text');
  // All events of the customer are one subject, but no member of a set.
  const subjects = takesText ? SUBJECTS.filter((one) => part === 'by' || one !== 'customer') : [];
  const subject = subjects.find((one) => one === text);
  if (subject !== undefined) return { kind: 'subject', subject };
  const [first, name = '', ...rest] = text.split('.');
  if (takesText && first === 'entity' && name !== '' && rest.length === 0) return { kind: 'entity', name };
  const fact = names.fact(text.split('.'));
  if (fact === null) return unknownPart(text, subjects, names);
  if (!types.includes(fact.type)) return `${text} is a ${fact.type}, and this must be a ${types.join(' or a ')}`;
  return { kind: 'fact', read: (input) => fact.read(input) };
}

function unknownPart(text: string, subjects: readonly string[], names: Names): string {
  const later = names.whyNot?.(text) ?? null;
  if (later !== null) return later;
  const close = closest(text, [...subjects, ...names.known]);
  const may = subjects.length === 0 ? 'it must be' : `it must be ${subjects.join(', ')}, entity.<name> or`;
  return `there is no ${quoted(text)}; ${close === null ? `${may} a fact such as attributes.amount` : `did you mean ${close}?`}`;
}
