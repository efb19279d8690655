import type { JSX } from 'preact';
import { useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { FactRow } from '../../../../contract/wire-types.ts';
import { Button } from '../../components/fields.tsx';
import { Icon } from '../../components/icon.tsx';
import { formatCount } from '../../format.ts';
import { visibleText } from '../../visible-text.ts';
import { complete, completionAt, corrected, offsetOf } from './condition-completion.ts';
import { SampleView } from './sample-view.tsx';
import type { ConditionCheck, ConditionErrorBody } from './condition-check.ts';

const ROWS = 5;

/** The text of a condition, with the facts that may follow and its errors. Tab takes the chosen fact, Esc closes the list. */
export function ConditionField({
  value,
  onValue,
  facts,
  check,
  disabled,
}: {
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly facts: readonly FactRow[];
  readonly check: ConditionCheck;
  readonly disabled: boolean;
}): JSX.Element {
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const next = useRef<readonly [number, number] | null>(null);
  const [caret, setCaret] = useState<number | null>(null);
  const [chosen, setChosen] = useState(0);
  const completion = useMemo(
    () => (caret === null || disabled ? null : completionAt(value, caret, facts)),
    [value, caret, facts, disabled],
  );
  useLayoutEffect(() => {
    if (next.current === null) return;
    area.current?.setSelectionRange(...next.current);
    next.current = null;
  }, [value]);

  const take = (fact: FactRow | undefined): void => {
    if (completion === null || fact === undefined) return;
    const { text, caret: at, caretEnd } = complete(value, completion, fact);
    next.current = [at, caretEnd];
    setCaret(null);
    onValue(text);
    area.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (completion === null) return;
    const count = completion.facts.length;
    if (event.key === 'ArrowDown') setChosen((chosen + 1) % count);
    else if (event.key === 'ArrowUp') setChosen((chosen + count - 1) % count);
    else if (event.key === 'Tab' && !event.shiftKey) take(completion.facts[chosen]);
    else if (event.key === 'Escape') setCaret(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const goTo = ({ line = 1, column = 1 }: ConditionErrorBody): void => {
    const at = offsetOf(value, line, column);
    area.current?.focus();
    area.current?.setSelectionRange(at, at);
  };
  const correct = (error: ConditionErrorBody): void => {
    const { text, caret: at } = corrected(value, error, facts);
    next.current = [at, at];
    onValue(text);
    area.current?.focus();
  };
  return (
    <div class="field">
      <label for={id} class="field-label">
        Condition
      </label>
      <textarea
        ref={area}
        id={id}
        class="input condition"
        rows={ROWS}
        spellcheck={false}
        autoComplete="off"
        autoCapitalize="off"
        disabled={disabled}
        value={value}
        aria-invalid={check.kind === 'faults'}
        aria-describedby={`${id}-check`}
        aria-autocomplete="list"
        aria-controls={completion === null ? undefined : `${id}-facts`}
        aria-activedescendant={completion === null ? undefined : `${id}-${chosen}`}
        onInput={({ currentTarget }) => {
          setCaret(currentTarget.selectionStart);
          setChosen(0);
          onValue(currentTarget.value);
        }}
        onKeyDown={onKeyDown}
        onBlur={() => setCaret(null)}
      />
      {completion !== null && (
        <ul id={`${id}-facts`} class="facts-list" role="listbox" aria-label="Facts">
          {completion.facts.map((fact, at) => (
            <li
              key={fact.name}
              id={`${id}-${at}`}
              role="option"
              aria-selected={at === chosen}
              onMouseDown={(event) => {
                event.preventDefault();
                take(fact);
              }}
            >
              <code>{visibleText(fact.name)}</code> <span class="tag">{fact.type}</span>{' '}
              <span class="muted">
                {visibleText(fact.meaning)}
                {fact.unit === undefined ? '' : `, ${fact.unit}`}
              </span>
            </li>
          ))}
        </ul>
      )}
      <div id={`${id}-check`} role="status">
        <CheckResult check={check} value={value} onGoTo={goTo} onCorrect={disabled ? null : correct} />
      </div>
    </div>
  );
}

function CheckResult({
  check,
  value,
  onGoTo,
  onCorrect,
}: {
  readonly check: ConditionCheck;
  readonly value: string;
  readonly onGoTo: (error: ConditionErrorBody) => void;
  /** Writes the suggested name in the place of the wrong one; null where nothing can be written. */
  readonly onCorrect: ((error: ConditionErrorBody) => void) | null;
}): JSX.Element | null {
  if (check.kind === 'ok')
    return (
      <>
        <p class="field-hint">
          <Icon name="check" size={14} /> It can be used; {formatCount(check.cost)} of 2,000 steps.
        </p>
        {check.sample !== null && check.sample.decisions > 0 && <SampleView sample={check.sample} />}
        {check.warnings.map((message) => (
          <p key={message} class="field-hint tone-warn">
            <Icon name="warning" size={14} /> {visibleText(message)}
          </p>
        ))}
      </>
    );
  if (check.kind === 'unknown')
    return <p class="field-hint">It could not be checked now. Saving it checks it again.</p>;
  if (check.kind !== 'faults')
    return <p class="field-hint">Begin with a fact, such as event. or attributes. – the list shows what there is.</p>;
  const lines = value.split('\n');
  return (
    <>
      {check.errors.map((error) => {
        const { message, line = 1, column = 1, did_you_mean: meant } = error;
        return (
          <div key={`${line}:${column}:${message}`} class="condition-fault">
            <p class="field-error">
              <Icon name="error" size={14} />
              <button type="button" class="link-button" onClick={() => onGoTo(error)}>
                Line {line}, column {column}
              </button>
              : <span>{visibleText(message)}</span>
            </p>
            <FaultPlace line={lines[line - 1] ?? ''} column={column} />
            {meant !== undefined && onCorrect !== null && (
              <Button small onClick={() => onCorrect(error)}>
                Use {visibleText(meant)}
              </Button>
            )}
          </div>
        );
      })}
    </>
  );
}

/** Choice: characters of the line on either side of the place. */
const AROUND = 24;

/** The part of the line around an error, with a mark below its place. */
function FaultPlace({ line, column }: { readonly line: string; readonly column: number }): JSX.Element {
  const from = Math.max(0, column - 1 - AROUND);
  return (
    <pre class="fault-place" aria-hidden="true">
      {visibleText(line.slice(from, column - 1 + AROUND))}
      {'\n'}
      {' '.repeat(Math.max(0, column - 1 - from))}^
    </pre>
  );
}
