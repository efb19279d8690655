import type { ComponentChildren, JSX } from 'preact';

export interface Fact {
  readonly title: string;
  readonly value: ComponentChildren;
}

/** Names with their values, one a line. Facts without a value are left out. */
export function FactList({
  facts,
  label,
}: {
  readonly facts: readonly (Fact | null)[];
  readonly label: string;
}): JSX.Element {
  return (
    <dl class="facts" aria-label={label}>
      {facts.map((fact) =>
        fact === null ? null : (
          <div key={fact.title}>
            <dt>{fact.title}</dt>
            <dd>{fact.value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}
