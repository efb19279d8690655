import { attempt, listenOnDocument, readProperty } from './page-proof.ts';

/** Writes tokens for forms. `ready` is true once a token has everything that it can have. */
export interface FormTokens {
  readonly ready: boolean;
  whenReady(): Promise<void>;
  write(): string;
}

/** Choice: longer than a first token takes; a person who presses a button notices nothing. */
const WAIT_MS_MAX = 800;
const DEFAULT_NAME = 'session_token';

/**
 * Fills a hidden field of each form with `data-gatehouse` while it is submitted. The attribute's value is the field's name, by default
 * `session_token`. A form that is submitted before the first token is ready waits for it, at most 800 ms, and is then submitted
 * with what is available: in the worst case an empty token, and the reason in the field `<name>_reason`.
 */
export function helpForms(tokens: FormTokens, signal: AbortSignal): void {
  /** Forms whose submission waits. */
  const waiting = new WeakSet<HTMLFormElement>();
  /** Forms whose present token was read. */
  const spent = new WeakSet<HTMLFormElement>();
  /** True during a submission that has waited: it is filled with what there is. */
  let hasWaited = false;

  listenOnDocument(
    'submit',
    (event) => {
      const form = helped(event.target);
      if (form === null || event.defaultPrevented) return;
      if (waiting.has(form)) {
        stop(event);
        return;
      }
      // Safari before 16 cannot repeat a submission with its button, so it does not wait.
      if (tokens.ready || hasWaited || typeof HTMLFormElement.prototype.requestSubmit !== 'function') {
        fill(form, tokens);
        spent.delete(form);
        return;
      }
      stop(event);
      waiting.add(form);
      const { submitter } = event;
      const go = (): void => {
        if (!waiting.delete(form)) return;
        clearTimeout(timer);
        hasWaited = true;
        HTMLFormElement.prototype.requestSubmit.call(form, submitter);
        hasWaited = false;
      };
      const timer = setTimeout(go, WAIT_MS_MAX);
      // Later than this event: a form ignores requestSubmit while its own submit event is being dispatched.
      const goSoon = (): void => void setTimeout(go);
      void tokens.whenReady().then(goSoon, goSoon);
    },
    { capture: true, signal },
  );
  listenOnDocument(
    'formdata',
    (event) => {
      const form = helped(event.target);
      if (form === null) return;
      const name = nameOf(form);
      // `form.submit()` and `new FormData(form)` send no submit event, and each of them needs a token of its own.
      const present = event.formData.get(name);
      if (present === null || present === '' || spent.has(form)) event.formData.set(name, fill(form, tokens));
      spent.add(form);
    },
    { capture: true, signal },
  );
}

function helped(target: EventTarget | null): HTMLFormElement | null {
  return target instanceof HTMLFormElement && Element.prototype.hasAttribute.call(target, 'data-gatehouse')
    ? target
    : null;
}

function nameOf(form: HTMLFormElement): string {
  return Element.prototype.getAttribute.call(form, 'data-gatehouse') || DEFAULT_NAME;
}

function stop(event: Event): void {
  event.preventDefault();
  event.stopImmediatePropagation();
}

/** Puts a token, or the reason for its absence, into the form's fields and returns the token. */
function fill(form: HTMLFormElement, tokens: FormTokens): string {
  // Without a token the reason is in the form: the visitor's submission never fails because of the collector.
  const token = attempt(() => tokens.write()) ?? '';
  const name = nameOf(form);
  setField(form, name, token);
  if (token === '') setField(form, `${name}_reason`, 'collector_failed');
  return token;
}

function setField(form: HTMLFormElement, name: string, text: string): void {
  const field = findField(form, name) ?? addField(form, name);
  field.value = text;
}

function findField(form: HTMLFormElement, name: string): HTMLInputElement | null {
  const elements = readProperty(HTMLFormElement, 'elements', form);
  for (let i = 0; i < elements.length; i++) {
    const element = elements[i];
    if (element instanceof HTMLInputElement && element.name === name) return element;
  }
  return null;
}

function addField(form: HTMLFormElement, name: string): HTMLInputElement {
  const field = Document.prototype.createElement.call(document, 'input') as HTMLInputElement;
  field.type = 'hidden';
  field.name = name;
  Node.prototype.appendChild.call(form, field);
  return field;
}
