import type { FieldError } from '../../contract/problem.ts';
import type { OutputOptions } from '../../work/extraction-job.ts';
import { childPointer } from '../../kernel/json-pointer.ts';
import type { JsonSchema } from '../base/connector.ts';
import { META } from './record-meta.ts';
import { isArraySchema, memberOf } from './record-paths.ts';
import { canHave, select, selectAll, takeOut, type Selection } from './selection.ts';

/** One top-level member of a shaped record. */
export interface OutputMember {
  readonly name: string;
  /** Path of its value in the record. */
  readonly path: readonly string[];
  readonly selection: Selection;
  /** Schema of its value. */
  readonly schema: JsonSchema;
}

export type Planned =
  | { readonly kind: 'ok'; readonly members: readonly OutputMember[] }
  | { readonly kind: 'faults'; readonly errors: readonly FieldError[] };

/**
 * Derives the members of a shaped record from the options and the record schema alone, so that every record and every page of a job has the
 * same members. A renamed path moves to the top level: `{"author.name": "author"}` creates a member `author`.
 * Choice: `_meta` is always present and complete. Naming it in `fields` has no effect, and it can be neither renamed nor used as a new
 * name.
 */
export function planOutput(output: Pick<OutputOptions, 'fields' | 'rename'>, record: JsonSchema): Planned {
  const errors: FieldError[] = [];
  const selection = selectFields(output.fields, record, errors);
  const renamed = Object.entries(output.rename)
    .map(([text, name]) => ({ text, name, path: text.split('.') }))
    // The deepest come first, so that a member is taken out of its object before the object itself is.
    .sort((a, b) => b.path.length - a.path.length);
  const order = [...selection.keys()];
  const moved: OutputMember[] = [];
  for (const { text, name, path } of renamed) {
    const taken = takeOut(selection, path, record);
    if (taken === null) errors.push(renameFault(text, path, record));
    else moved.push({ name, path, selection: taken, schema: schemaAt(record, path) });
  }
  const members = order.flatMap((name) => {
    const kept = selection.get(name);
    const rest = moved.filter(({ path }) => path[0] === name).sort((a, b) => a.path.length - b.path.length);
    if (kept === undefined) return rest;
    return [{ name, path: [name], selection: kept, schema: schemaAt(record, [name]) }, ...rest];
  });
  errors.push(...collisions(members));
  return errors.length > 0 ? { kind: 'faults', errors } : { kind: 'ok', members };
}

function selectFields(
  fields: readonly string[] | null,
  record: JsonSchema,
  errors: FieldError[],
): Map<string, Selection> {
  if (fields === null) return selectAll(record);
  const selection = new Map<string, Selection>();
  for (const [index, text] of fields.entries()) {
    const path = text.split('.');
    if (path[0] === META) continue;
    if (canHave(record, path)) select(selection, path);
    else {
      const message = 'Records of this operation have no such field.';
      errors.push({ pointer: `/output/fields/${index}`, code: 'unknown_path', message });
    }
  }
  return selection;
}

function renameFault(text: string, path: readonly string[], record: JsonSchema): FieldError {
  const pointer = childPointer('/output/rename', text);
  if (path[0] === META) return { pointer, code: 'invalid_value', message: `${META} keeps its name.` };
  if (!canHave(record, path))
    return { pointer, code: 'unknown_path', message: 'Records of this operation have no such field.' };
  return { pointer, code: 'unknown_path', message: 'This is not among the fields; name it in output.fields as well.' };
}

/** Returns the schema at a path. Behind an array it is a list of the items' values. */
function schemaAt(record: JsonSchema, path: readonly string[]): JsonSchema {
  let schema = record;
  let isList = false;
  for (const name of path) {
    isList ||= isArraySchema(schema);
    const member = memberOf(schema, name);
    if (member.kind !== 'known') return isList ? { type: 'array' } : {};
    schema = member.schema;
  }
  return isList ? { type: 'array', items: schema } : schema;
}

function collisions(members: readonly OutputMember[]): FieldError[] {
  return members
    .filter(({ name }, index) => members.some((other, at) => other.name === name && at !== index))
    .filter(({ name, path }) => path.length > 1 || path[0] !== name)
    .map(({ name, path }) => ({
      pointer: childPointer('/output/rename', path.join('.')),
      code: 'name_collision',
      message: `Another field already has the name ${JSON.stringify(name)}.`,
    }));
}
