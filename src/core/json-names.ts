import { childPointer } from './json-pointer.ts';

/** A name in a JSON text that says nothing where it stands. */
export interface NameFault {
  /** RFC 6901. */
  readonly pointer: string;
  readonly message: string;
}

interface Level {
  readonly pointer: string;
  /** Names so far; null in an array. */
  readonly names: Set<string> | null;
  /** The name before the colon, or the position in an array. */
  at: string;
  position: number;
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g;

/**
 * Names that stand twice in their object, of which a reader of JSON drops all but the last without a word, and `__proto__`, which
 * many drop. `text` is valid JSON. It keeps its own stack, so no depth is too deep for it.
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
  else if (level.names?.has(name) === true) faults.push({ pointer, message: 'this name stands here twice' });
  level.names?.add(name);
}
