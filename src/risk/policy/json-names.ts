import { childPointer } from '../../kernel/json-pointer.ts';

/** A name in a JSON text that has no effect there. */
export interface NameFault {
  /** RFC 6901. */
  readonly pointer: string;
  readonly message: string;
}

interface Level {
  readonly pointer: string;
  /** Names so far; null in an array. */
  readonly names: Set<string> | null;
  /** The name before the colon. */
  at: string;
  position: number;
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g;

/**
 * Returns names that are duplicated in their object, of which JSON parsers silently drop all but the last, and `__proto__`, which many
 * parsers drop. `text` must be valid JSON. Uses its own stack, so any depth is safe.
 */
export function findBadNames(text: string): readonly NameFault[] {
  const faults: NameFault[] = [];
  const stack: Level[] = [];
  let last = '';
  for (const [token] of text.matchAll(TOKEN)) {
    const top = stack.at(-1);
    if (token === '{' || token === '[') {
      const pointer = top === undefined ? '' : childPointer(top.pointer, top.names === null ? top.position : top.at);
      stack.push({ pointer, names: token === '{' ? new Set() : null, at: '', position: 0 });
    } else if (token === '}' || token === ']') stack.pop();
    else if (token === ':' && top !== undefined) enterName(top, last, faults);
    else if (token === ',' && top !== undefined) top.position += 1;
    else last = token;
  }
  return faults;
}

function enterName(level: Level, quoted: string, faults: NameFault[]): void {
  const name = String(JSON.parse(quoted));
  const pointer = childPointer(level.pointer, name);
  level.at = name;
  if (name === '__proto__') faults.push({ pointer, message: 'this name cannot be used' });
  else if (level.names?.has(name) === true) faults.push({ pointer, message: 'this name appears twice in its object' });
  level.names?.add(name);
}
