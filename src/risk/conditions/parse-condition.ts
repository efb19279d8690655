import { Environment, ParseError, type ASTNode } from '@marcbachmann/cel-js';
import { CONDITION_CHARACTERS_MAX, type ConditionFault, type ConditionFaultCode } from './condition.ts';

export type ConditionNode = ASTNode;

/** Choice: nothing that people write comes near; the parser recurses. */
const LIMITS = { maxAstNodes: 500, maxDepth: 32, maxListElements: 100, maxMapEntries: 0, maxCallArguments: 2 };

const PARSER = new Environment({ unlistedVariablesAreDyn: true, limits: LIMITS });

export type ParsedCondition =
  | { readonly kind: 'ok'; readonly root: ConditionNode }
  | { readonly kind: 'fault'; readonly fault: ConditionFault };

/** Parses the text of a condition. Total. */
export function parseCondition(text: string): ParsedCondition {
  if (text.length > CONDITION_CHARACTERS_MAX)
    return fault(text, 0, 'too_costly', `A condition has at most ${CONDITION_CHARACTERS_MAX} characters.`);
  try {
    return { kind: 'ok', root: PARSER.parse(text).ast };
  } catch (error) {
    if (!(error instanceof ParseError)) return fault(text, 0, 'syntax_error', 'This cannot be read.');
    const at = error.range?.start ?? error.node?.pos ?? 0;
    if (error.code === 'limit_exceeded')
      return fault(text, at, 'too_costly', 'The condition has too many parts, or too many within each other.');
    return fault(text, at, 'syntax_error', wordingOf(text, at, error));
  }
}

function wordingOf(text: string, at: number, { code, summary }: ParseError): string {
  const rest = text.slice(at);
  if (rest === '') return 'The condition ends too early.';
  if (rest.startsWith('=')) return 'Equality is written ==.';
  if (/^\s*(?:and|or|not)\b/i.test(rest) || /\b(?:and|or)\s*$/i.test(text.slice(0, at)))
    return 'Write && for and, || for or, ! for not.';
  if (code === 'unterminated_string') return 'The text has no closing quotation mark.';
  return `${summary}.`;
}

function fault(text: string, at: number, code: ConditionFaultCode, message: string): ParsedCondition {
  return { kind: 'fault', fault: { code, ...placeIn(text, at), message } };
}

/** Returns line and column of an offset, both from 1. */
export function placeIn(text: string, at: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, at);
  return { line: before.split('\n').length, column: at - before.lastIndexOf('\n') };
}

/** Returns the names of `a.b["c"]`; null for anything else. */
export function pathOf(node: ConditionNode): string[] | null {
  if (node.op === 'id') return [node.args];
  if (node.op !== '.' && node.op !== '[]') return null;
  const path = pathOf(node.args[0]);
  if (path === null) return null;
  const [, part] = node.args;
  if (typeof part === 'string') return [...path, part];
  return part.op === 'value' && typeof part.args === 'string' ? [...path, part.args] : null;
}
