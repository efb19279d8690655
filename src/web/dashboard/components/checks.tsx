import type { JSX } from 'preact';
import type { Choice } from './fields.tsx';

/** Any number of a few values. */
export function Checks({
  legend,
  choices,
  chosen,
  onChosen,
}: {
  readonly legend: string;
  readonly choices: readonly Choice[];
  readonly chosen: readonly string[];
  readonly onChosen: (values: readonly string[]) => void;
}): JSX.Element {
  return (
    <fieldset class="checks">
      <legend>{legend}</legend>
      {choices.map(({ value, title }) => (
        <label key={value} class="check">
          <input
            type="checkbox"
            checked={chosen.includes(value)}
            onChange={(event) =>
              onChosen(
                choices
                  .map((choice) => choice.value)
                  .filter((other) => (other === value ? event.currentTarget.checked : chosen.includes(other))),
              )
            }
          />
          {title}
        </label>
      ))}
    </fieldset>
  );
}
