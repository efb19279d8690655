import { parseSync, Visitor } from 'oxc-parser';
import type { Class, ExportNamedDeclaration, Node } from 'oxc-parser';

/** Lines of the longest function and file, members of the largest class. A function with JSX describes a page and may be longer. */
export const LINES_OF_FUNCTION_MAX = 70;
export const LINES_OF_JSX_MAX = 120;
export const LINES_OF_FILE_MAX = 400;
export const METHODS_MAX = 25;

/** One unit of a file: `name` as it stands in the source, `size` in lines or methods. */
export interface SourceUnit {
  readonly kind: 'file' | 'function' | 'class';
  readonly name: string;
  readonly size: number;
  readonly max: number;
}

export interface SourceShape {
  readonly units: readonly SourceUnit[];
  /** Exported values and types, each name once; without what was imported. */
  readonly exported: readonly string[];
}

/** Sizes of everything in a file. `path` decides whether JSX is read. Throws when the text cannot be parsed. */
export function shapeOf(path: string, text: string): SourceShape {
  const { program, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  const lineOf = lineFinder(text);
  const linesOf = (node: Node): number => lineOf(node.end - 1) - lineOf(node.start) + 1;
  const functions: { node: Node; name: string; jsx: boolean }[] = [];
  const open: { node: Node; name: string; jsx: boolean }[] = [];
  const units: SourceUnit[] = [
    { kind: 'file', name: '', size: text.trimEnd().split('\n').length, max: LINES_OF_FILE_MAX },
  ];
  const exported = new Set<string>();
  const imported = new Set<string>();
  let naming = '';
  const enter = (node: Node & { id?: { name: string } | null }): void => {
    open.push({ node, name: node.id?.name ?? naming, jsx: false });
    naming = '';
  };
  const leave = (): void => {
    const done = open.pop();
    if (done !== undefined) functions.push(done);
  };
  const markJsx = (): void => {
    for (const each of open) each.jsx = true;
  };
  new Visitor({
    VariableDeclarator: (node) => void (naming = node.id.type === 'Identifier' ? node.id.name : ''),
    Property: (node) => void (naming = text.slice(node.key.start, node.key.end)),
    PropertyDefinition: (node) => void (naming = text.slice(node.key.start, node.key.end)),
    MethodDefinition: (node) => void (naming = text.slice(node.key.start, node.key.end)),
    FunctionDeclaration: enter,
    'FunctionDeclaration:exit': leave,
    FunctionExpression: enter,
    'FunctionExpression:exit': leave,
    ArrowFunctionExpression: enter,
    'ArrowFunctionExpression:exit': leave,
    JSXElement: markJsx,
    JSXFragment: markJsx,
    ClassDeclaration: (node) => void units.push(classUnit(node)),
    ClassExpression: (node) => void units.push(classUnit(node)),
    ImportSpecifier: (node) => void imported.add(node.local.name),
    ExportNamedDeclaration: (node) => {
      if (node.source === null) for (const name of namesOf(node)) if (!imported.has(name)) exported.add(name);
    },
  }).visit(program);
  for (const { node, name, jsx } of functions)
    units.push({ kind: 'function', name, size: linesOf(node), max: jsx ? LINES_OF_JSX_MAX : LINES_OF_FUNCTION_MAX });
  return { units, exported: [...exported] };
}

/** Methods, accessors and the constructor. */
function classUnit(node: Class): SourceUnit {
  const size = node.body.body.filter(({ type }) => type === 'MethodDefinition').length;
  return { kind: 'class', name: node.id?.name ?? '', size, max: METHODS_MAX };
}

function namesOf({ declaration, specifiers }: ExportNamedDeclaration): string[] {
  const names = specifiers.map(({ exported }) => ('name' in exported ? exported.name : exported.value));
  if (declaration === null) return names;
  if (declaration.type === 'VariableDeclaration')
    return declaration.declarations.flatMap(({ id }) => (id.type === 'Identifier' ? [id.name] : []));
  return 'id' in declaration && declaration.id !== null && 'name' in declaration.id ? [declaration.id.name] : [];
}

/** Returns a function from an offset to its line, from 1. */
function lineFinder(text: string): (offset: number) => number {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length;
    while (low + 1 < high) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  };
}
