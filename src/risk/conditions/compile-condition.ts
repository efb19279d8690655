import { repeatedSize } from '../../kernel/pattern-size.ts';
import { closest } from '../../kernel/closest-name.ts';
import {
  CONDITION_COST_MAX,
  CONDITION_ITEMS_MAX,
  MATCH_STEPS_MAX,
  type CompiledCondition,
  type ConditionFact,
  type ConditionFault,
  type ConditionFaultCode,
  type ConditionNames,
  type ConditionOutcome,
  type ConditionType,
  type ConditionValue,
} from './condition.ts';
import {
  and,
  choice,
  equals,
  inConstants,
  inItems,
  type ItemSlot,
  listOf,
  negated,
  not,
  NUMBER_OPERATORS,
  ofNumbers,
  or,
  overItems,
  type Part,
} from './condition-operators.ts';
import {
  CONDITION_FUNCTIONS,
  FUNCTION_NAMES,
  PATTERNS_SIZE_MAX,
  patternOf,
  withArticle,
} from './condition-functions.ts';
import { constantOf, folded, type Term } from './condition-term.ts';
import { entityFactText, lastPart, nearestFact } from './nearest-fact.ts';
import { parseCondition, pathOf, placeIn, type ConditionNode } from './parse-condition.ts';

type NodeOf<Operator extends ConditionNode['op']> = Extract<ConditionNode, { readonly op: Operator }>;

/** Choice: a condition with more faults is mostly one fault. */
const FAULTS_MAX = 10;
/** Choice: steps of a look-up in a named list; two hashes and a search in the store. */
const LIST_COST = 100;

/** Compiles a condition. Total: every text has an outcome. */
export function compileCondition<Input>(text: string, names: ConditionNames<Input>): ConditionOutcome<Input> {
  const parsed = parseCondition(text);
  if (parsed.kind === 'fault') return { kind: 'faults', faults: [parsed.fault] };
  const compiler = new ConditionCompiler(text, names);
  const root = compiler.part(parsed.root);
  compiler.expect(parsed.root, root, ['boolean'], 'A condition is true or false');
  if (root.cost > CONDITION_COST_MAX)
    compiler.fault(parsed.root, 'too_costly', `This takes ${root.cost} steps; ${CONDITION_COST_MAX} are the most.`);
  if (compiler.faults.length > 0) return { kind: 'faults', faults: compiler.faults };
  return { kind: 'ok', condition: compiler.conditionOf(root) };
}

class ConditionCompiler<Input> {
  readonly faults: ConditionFault[] = [];
  readonly #text: string;
  readonly #names: ConditionNames<Input>;
  readonly #facts = new Map<string, ConditionFact<Input>>();
  readonly #lists = new Set<string>();
  #patternsSize = 0;
  /** The variables of the `exists` and `all` around the present part. */
  readonly #variables = new Map<string, Term<Input>>();

  constructor(text: string, names: ConditionNames<Input>) {
    this.#text = text;
    this.#names = names;
  }

  conditionOf({ read, cost }: Term<Input>): CompiledCondition<Input> {
    return {
      holds: (input) => read(input) === true,
      evaluate: (input) => read(input) as boolean | undefined,
      facts: [...this.#facts.values()].filter(({ isIdentity }) => isIdentity !== true),
      lists: [...this.#lists],
      cost,
    };
  }

  fault(node: ConditionNode, code: ConditionFaultCode, message: string, didYouMean?: string | null): Term<Input> {
    const place = placeIn(this.#text, node.start);
    if (this.faults.length < FAULTS_MAX)
      this.faults.push({ code, ...place, message, ...(typeof didYouMean === 'string' && { didYouMean }) });
    return { type: null, read: () => undefined, constant: undefined, cost: 0 };
  }

  /** Adds a fault unless the term has one of the types. */
  expect(node: ConditionNode, { type }: Term<Input>, types: readonly ConditionType[], rule: string): void {
    if (type !== null && !types.includes(type))
      this.fault(node, 'type_error', `${rule}; this is ${withArticle(type)}.`);
  }

  /** Checks and compiles a part; an identity only where `#memberOf` asks for it. */
  part(node: ConditionNode): Term<Input> {
    const term = this.#anyPart(node);
    if (term.fact?.isIdentity === true)
      return this.fault(
        node,
        'type_error',
        `${term.fact.name} identifies a person: it stands only left of "in list.<name>".`,
      );
    return term;
  }

  #anyPart(node: ConditionNode): Term<Input> {
    switch (node.op) {
      case 'value':
        return this.#literal(node);
      case 'id':
      case '.':
      case '[]':
        return this.#named(node);
      case '&&':
      case '||':
        return this.#logical(node);
      case '!_':
        return this.#unary(node, node.args, 'boolean', not, '! is for a part that is true or false');
      case '-_':
        return this.#unary(node, node.args, 'number', negated, 'A sign is for a number');
      case '==':
      case '!=':
        return this.#equality(node);
      case '<':
      case '<=':
      case '>':
      case '>=':
        return this.#numeric(node, 'boolean');
      case '+':
      case '-':
      case '*':
      case '/':
      case '%':
        return this.#numeric(node, 'number');
      case 'in':
        return this.#memberOf(node);
      case '?:':
        return this.#ternary(node);
      case 'list':
        return this.#listLiteral(node);
      case 'call':
        return this.#call(node, node.args[0], node.args[1]);
      case 'rcall':
        return this.#method(node);
      case 'map':
      case '.?':
      case '[?]':
        return this.fault(node, 'syntax_error', 'Conditions have no maps and no optional parts.');
    }
  }

  #literal(node: NodeOf<'value'>): Term<Input> {
    const { args: value } = node;
    if (typeof value === 'bigint') {
      const number = Number(value);
      if (Number.isSafeInteger(number)) return constantOf('number', number);
      return this.fault(node, 'type_error', 'Whole numbers are below 2^53.');
    }
    if (typeof value === 'number') return constantOf('number', value);
    if (typeof value === 'string') return constantOf('text', value);
    if (typeof value === 'boolean') return constantOf('boolean', value);
    if (value === null) return this.fault(node, 'type_error', 'There is no null: has(x) asks whether a fact is known.');
    return this.fault(node, 'type_error', 'Conditions have numbers, texts, true and false.');
  }

  #named(node: NodeOf<'id' | '.' | '[]'>): Term<Input> {
    if (node.op === 'id') {
      const variable = this.#variables.get(node.args);
      if (variable !== undefined) return variable;
    }
    const path = pathOf(node);
    if (path === null)
      return this.fault(node, 'syntax_error', 'Only a fact has parts: entity.email, entity["card-id"].');
    if (path[0] === 'list')
      return this.fault(node, 'type_error', 'A list stands right of "in": ip.address in list.partners.');
    const fact = this.#names.fact(path);
    if (fact === null) return this.#unknownFact(node, path);
    this.#facts.set(fact.name, fact);
    return { type: fact.type, read: (input) => fact.read(input), constant: undefined, cost: 1, fact };
  }

  #unknownFact(node: ConditionNode, path: readonly string[]): Term<Input> {
    const name = path.join('.');
    const why = this.#names.whyNot?.(name) ?? null;
    if (why !== null) return this.fault(node, 'unknown_fact', why);
    const beside = this.#names.beside?.(path) ?? [];
    const nearest = nearestFact(name, [...beside, ...this.#names.known]);
    if (nearest !== null) {
      const close = beside.includes(nearest) ? entityFactText(nearest) : nearest;
      return this.fault(node, 'unknown_fact', `There is no fact ${name}. Did you mean ${close}?`, close);
    }
    const first = beside.length > 0 ? path.slice(0, 2).join('.') : path[0];
    const all = beside.length > 0 ? beside : this.#names.known.filter((one) => one.startsWith(`${first}.`));
    const hint = all.length === 0 ? '' : ` ${first} has ${all.map(lastPart).join(', ')}.`;
    return this.fault(node, 'unknown_fact', `There is no fact ${name}.${hint}`);
  }

  #logical(node: NodeOf<'&&' | '||'>): Term<Input> {
    const [left, right] = this.#both(node.args);
    const rule = `${node.op} joins parts that are true or false`;
    this.expect(node.args[0], left, ['boolean'], rule);
    this.expect(node.args[1], right, ['boolean'], rule);
    return folded('boolean', (node.op === '&&' ? and : or)(left.read, right.read), [left, right]);
  }

  #unary(
    node: ConditionNode,
    operand: ConditionNode,
    type: ConditionType,
    make: (part: Part<Input>) => Part<Input>,
    rule: string,
  ): Term<Input> {
    const term = this.part(operand);
    this.expect(node, term, [type], rule);
    return folded(type, make(term.read), [term]);
  }

  #equality(node: NodeOf<'==' | '!='>): Term<Input> {
    const [left, right] = this.#both(node.args);
    const rule = `${node.op} compares numbers, texts, true and false; use "in", exists or all for a list`;
    for (const [at, term] of [left, right].entries())
      this.expect(node.args[at] ?? node, term, ['number', 'text', 'boolean'], rule);
    if (left.type !== null && right.type !== null && left.type !== right.type)
      this.fault(node, 'type_error', `${withArticle(left.type, true)} never equals ${withArticle(right.type)}.`);
    return folded('boolean', equals(left.read, right.read, node.op === '=='), [left, right]);
  }

  #numeric(node: NodeOf<'<' | '<=' | '>' | '>=' | '+' | '-' | '*' | '/' | '%'>, type: ConditionType): Term<Input> {
    const [left, right] = this.#both(node.args);
    for (const [at, term] of [left, right].entries())
      this.expect(node.args[at] ?? node, term, ['number'], `${node.op} is for numbers`);
    const operate = NUMBER_OPERATORS[node.op] ?? Number;
    return folded(type, ofNumbers(left.read, right.read, operate), [left, right]);
  }

  #ternary(node: NodeOf<'?:'>): Term<Input> {
    const [test, yes, no] = node.args.map((one) => this.part(one)) as [Term<Input>, Term<Input>, Term<Input>];
    this.expect(node.args[0], test, ['boolean'], 'Before ? stands a part that is true or false');
    if (yes.type !== null && no.type !== null && yes.type !== no.type)
      this.fault(node, 'type_error', `Both results have one type; these are ${yes.type} and ${no.type}.`);
    return folded(yes.type, choice(test.read, yes.read, no.read), [test, yes, no]);
  }

  #memberOf(node: NodeOf<'in'>): Term<Input> {
    const [item, list] = node.args;
    const path = list.op === '.' ? pathOf(list) : null;
    if (path?.[0] === 'list') return this.#inNamedList(node, path);
    const [left, right] = this.#both(node.args);
    this.expect(list, right, ['list', 'numbers'], 'Right of "in" stands a list');
    const type = right.type === 'numbers' ? 'number' : 'text';
    if (right.type !== null) this.expect(item, left, [type], `The list has ${type === 'text' ? 'texts' : 'numbers'}`);
    const { constant } = right;
    const read = Array.isArray(constant)
      ? inConstants(left.read, new Set(constant as readonly ConditionValue[]))
      : inItems(left.read, right.read);
    return folded('boolean', read, [left, right]);
  }

  #inNamedList(node: NodeOf<'in'>, path: readonly string[]): Term<Input> {
    const [item, list] = node.args;
    const name = path.slice(1).join('.');
    const left = this.#anyPart(item);
    this.expect(item, left, ['text', 'number'], 'A named list has texts');
    if (left.type !== 'text' && left.type !== 'number') return left;
    const test = this.#names.list(name, { type: left.type, fact: left.fact?.name ?? null });
    if (test === null) return this.#unknownList(list, name);
    if (typeof test === 'string') return this.fault(item, 'type_error', test);
    this.#lists.add(name);
    const read: Part<Input> = (input) => {
      const value = left.read(input);
      return value === undefined ? undefined : test(input, String(value));
    };
    return { type: 'boolean', read, constant: undefined, cost: left.cost + LIST_COST };
  }

  #unknownList(node: ConditionNode, name: string): Term<Input> {
    const lists = this.#names.known.filter((one) => one.startsWith('list.'));
    const close = closest(`list.${name}`, lists);
    const suggestion = close === null ? '' : ` Did you mean ${close}?`;
    return this.fault(node, 'unknown_fact', `There is no list ${JSON.stringify(name)}.${suggestion}`, close);
  }

  #listLiteral(node: NodeOf<'list'>): Term<Input> {
    const terms = node.args.map((one) => this.part(one));
    for (const [at, term] of terms.entries())
      this.expect(node.args[at] ?? node, term, ['text', 'number'], 'A list has texts or numbers');
    const types = new Set(terms.flatMap(({ type }) => (type === null ? [] : [type])));
    if (types.size > 1) this.fault(node, 'type_error', 'A list has texts only, or numbers only.');
    const type = types.has('number') ? 'numbers' : 'list';
    return folded(type, listOf(terms.map(({ read }) => read)), terms);
  }

  #method(node: NodeOf<'rcall'>): Term<Input> {
    const [name, receiver, args] = node.args;
    if (name === 'exists' || name === 'all') return this.#quantifier(node, name, receiver, args);
    return this.#call(node, name, [receiver, ...args]);
  }

  #quantifier(
    node: ConditionNode,
    name: 'exists' | 'all',
    receiver: ConditionNode,
    [variable, body]: readonly ConditionNode[],
  ): Term<Input> {
    const list = this.part(receiver);
    this.expect(receiver, list, ['list', 'numbers'], `${name} is for a list`);
    if (variable?.op !== 'id' || body === undefined)
      return this.fault(node, 'syntax_error', `Write list.${name}(x, x == "a").`);
    const slot: ItemSlot = { value: undefined };
    const type = list.type === 'numbers' ? 'number' : list.type === 'list' ? 'text' : null;
    const outer = this.#variables.get(variable.args);
    this.#variables.set(variable.args, { type, read: () => slot.value, constant: undefined, cost: 1 });
    const inner = this.part(body);
    if (outer === undefined) this.#variables.delete(variable.args);
    else this.#variables.set(variable.args, outer);
    this.expect(body, inner, ['boolean'], `${name} asks something that is true or false`);
    const items = Array.isArray(list.constant) ? list.constant.length : (list.fact?.itemsMax ?? CONDITION_ITEMS_MAX);
    const cost = list.cost + items * (inner.cost + 1);
    return {
      type: 'boolean',
      read: overItems(list.read, slot, inner.read, name === 'exists'),
      constant: undefined,
      cost,
    };
  }

  #call(node: ConditionNode, name: string, args: readonly ConditionNode[]): Term<Input> {
    const [first, second] = args;
    if (name === 'has' && args.length === 1 && first !== undefined) return this.#has(first);
    if (name === 'matches' && args.length === 2 && first !== undefined && second !== undefined)
      return this.#matches(first, second);
    const of = CONDITION_FUNCTIONS.get(name);
    if (of === undefined) {
      const close = closest(name, FUNCTION_NAMES);
      const meant = close === null ? '' : ` Did you mean ${close}?`;
      const all = FUNCTION_NAMES.join(', ');
      return this.fault(node, 'unknown_fact', `There is no function ${name}.${meant} There are ${all}.`, close);
    }
    if (args.length !== of.parameters.length) return this.fault(node, 'syntax_error', `Write ${of.example}.`);
    const terms = args.map((one) => this.part(one));
    for (const [at, term] of terms.entries())
      this.expect(args[at] ?? node, term, of.parameters[at] ?? [], `Write ${of.example}`);
    const term = folded(of.type, of.make(terms.map(({ read }) => read as Part<unknown>)) as Part<Input>, terms);
    if (name === 'timestamp' && term.type !== null && term.constant === undefined)
      return this.fault(node, 'type_error', `Write ${of.example}.`);
    return term;
  }

  #has(node: ConditionNode): Term<Input> {
    const term = this.#anyPart(node);
    if (term.type !== null && term.fact === undefined) return this.fault(node, 'type_error', 'has() asks for a fact.');
    const { read } = term;
    return { type: 'boolean', read: (input) => read(input) !== undefined, constant: undefined, cost: term.cost };
  }

  #matches(subject: ConditionNode, patternNode: ConditionNode): Term<Input> {
    const text = this.part(subject);
    this.expect(subject, text, ['text'], 'matches is for a text');
    const { constant, type } = this.part(patternNode);
    if (typeof constant !== 'string')
      return this.fault(
        patternNode,
        'type_error',
        type === null ? 'This has a fault.' : 'The pattern is a text in quotes.',
      );
    this.#patternsSize += repeatedSize(constant);
    if (this.#patternsSize > PATTERNS_SIZE_MAX)
      return this.fault(patternNode, 'too_costly', 'The patterns repeat too much.');
    const pattern = patternOf(constant);
    if (typeof pattern === 'string')
      return this.fault(
        patternNode,
        pattern === '' ? 'too_costly' : 'syntax_error',
        pattern || 'The pattern is too large.',
      );
    const charactersMax = Math.floor(MATCH_STEPS_MAX / pattern.size);
    const read: Part<Input> = (input) => {
      const value = text.read(input) as string | undefined;
      return value === undefined || value.length > charactersMax ? undefined : pattern.test(value);
    };
    return { type: 'boolean', read, constant: undefined, cost: text.cost + pattern.size };
  }

  #both([left, right]: readonly [ConditionNode, ConditionNode]): [Term<Input>, Term<Input>] {
    return [this.part(left), this.part(right)];
  }
}
