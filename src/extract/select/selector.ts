import { _compileUnsafe, selectAll, selectOne, type Options } from 'css-select';
import { Element, hasChildren, isTag, isText, type AnyNode, type ParentNode } from 'domhandler';
import { walk } from '../read/html.ts';
import type { SelectBudget } from './select-budget.ts';

/** A CSS selector that searches below a node. */
export interface PageSelector {
  /** Returns the first match. Throws `SelectStepsSpent`. */
  one(below: ParentNode): Element | null;
  /** Returns all matches in document order. Throws `SelectStepsSpent`. */
  all(below: ParentNode): readonly Element[];
}

export type CompiledSelector =
  | { readonly kind: 'ok'; readonly selector: PageSelector }
  | { readonly kind: 'fault'; readonly message: string };

/** Choice: people write shorter ones. */
export const SELECTOR_CHARACTERS_MAX = 300;

/**
 * Compiles a selector for the tree that `readHtml` builds. Every access to the tree spends steps of the budget. `isRelative`: searches
 * below an element, which is `:scope`; else below a whole page.
 */
export function compileSelector(css: string, budget: SelectBudget, isRelative: boolean): CompiledSelector {
  const refused = refusal(css);
  if (refused !== null) return { kind: 'fault', message: refused };
  const options = countedOptions(budget);
  // The library reads `:scope` from this list whenever it tests an element, so its only entry can be replaced before each search.
  const scope: AnyNode[] = [placeholder()];
  try {
    // Its caches keep what depends on `:scope`, so they are off for relative selectors.
    const own = isRelative ? { ...options, context: scope, cacheResults: false } : options;
    const query = _compileUnsafe(css, own);
    const from = (below: ParentNode): ParentNode => {
      scope[0] = below;
      return below;
    };
    return {
      kind: 'ok',
      selector: {
        one: (below) => selectOne(query, from(below), own),
        all: (below) => selectAll(query, from(below), own),
      },
    };
  } catch (error) {
    const detail = error instanceof Error ? error.message.slice(0, 200) : 'unknown error';
    return { kind: 'fault', message: `This is not an accepted CSS selector: ${detail}` };
  }
}

function refusal(css: string): string | null {
  if (css.trim() === '') return 'This must be a CSS selector.';
  if (css.length > SELECTOR_CHARACTERS_MAX)
    return `A selector must have at most ${SELECTOR_CHARACTERS_MAX} characters.`;
  // An escape could hide a name from the checks below.
  if (/:[\w-]*\\/.test(css)) return 'Names of pseudo-classes must not contain escapes.';
  if (/:i?contains\b/i.test(css)) return ':contains is not supported. Use `pattern` to test the text of a field.';
  if ((css.match(/:has\b/gi)?.length ?? 0) > 1) return 'A selector must have at most one :has.';
  return null;
}

/** An element that is not the root of its tree, as every element below which is searched. */
function placeholder(): Element {
  const element = new Element('x', {});
  element.parent = new Element('x', {});
  return element;
}

/** Choice: characters that cost as much as looking at a node. */
const CHARACTERS_PER_STEP = 16;

/** Measured: the library copies and filters the siblings that it gets, in the time of some steps each. */
const SIBLING_STEPS = 4;

/** Options with an adapter that spends a step for each node it looks at. */
function countedOptions(budget: SelectBudget): Options<AnyNode, Element> {
  const isElement = (node: AnyNode): node is Element => {
    budget.spend(1);
    return isTag(node);
  };
  const attribute = (element: Element, name: string): string | undefined => {
    const value = element.attribs[name];
    budget.spend(1 + (value?.length ?? 0) / CHARACTERS_PER_STEP);
    return value;
  };
  const siblings = (node: AnyNode): AnyNode[] => {
    const all = node.parent?.children ?? [node];
    budget.spend(SIBLING_STEPS * all.length);
    return all;
  };
  return {
    adapter: {
      isTag: isElement,
      getAttributeValue: attribute,
      hasAttrib: (element, name) => attribute(element, name) !== undefined,
      getName: (element) => element.name,
      getParent: (node) => node.parent,
      getChildren: (node) => {
        budget.spend(1);
        return hasChildren(node) ? node.children : [];
      },
      getSiblings: siblings,
      getText: (node) => countedText(node, budget),
      prevElementSibling: (node) => {
        let at: AnyNode | null = node.prev;
        while (at !== null && !isElement(at)) at = at.prev;
        return at;
      },
      // Only called for an element and its siblings, none of which contains another.
      removeSubsets: (nodes) => nodes,
    },
  };
}

function countedText(node: AnyNode, budget: SelectBudget): string {
  if (isText(node)) {
    budget.spend(1 + node.data.length / CHARACTERS_PER_STEP);
    return node.data;
  }
  if (!hasChildren(node)) return '';
  spendOn(node, budget, 1);
  let text = '';
  walk(node, (child) => {
    if (isText(child)) text += child.data;
    return 'enter';
  });
  return text;
}

/** Measured: steps of a text node and of another one that are read, beside those of the characters. */
const TEXT_STEPS = 5;
const NODE_STEPS = 3;

/** Spends the steps of reading everything below a node as text, `times` over. */
export function spendOn(node: ParentNode, budget: SelectBudget, times: number): void {
  budget.spend(1);
  walk(node, (child) => {
    budget.spend(times * (isText(child) ? TEXT_STEPS + child.data.length / CHARACTERS_PER_STEP : NODE_STEPS));
    return 'enter';
  });
}
