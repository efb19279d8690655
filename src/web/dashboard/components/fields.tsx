import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';
import { Icon, type IconName } from './icon.tsx';

/** Buttons and fields of forms. Every field has a label; an error stands beside it and is read with it. */

type ButtonKind = 'plain' | 'primary' | 'danger' | 'quiet';

export function Button({
  kind = 'plain',
  icon,
  children,
  small = false,
  label,
  ...rest
}: {
  readonly kind?: ButtonKind;
  readonly icon?: IconName;
  readonly children?: ComponentChildren;
  readonly small?: boolean;
  /** For a button without words. */
  readonly label?: string;
} & Omit<JSX.IntrinsicElements['button'], 'icon' | 'label' | 'kind'>): JSX.Element {
  return (
    <button
      type="button"
      {...rest}
      class={`button button-${kind}${small ? ' button-small' : ''}${children === undefined ? ' button-icon' : ''}`}
      aria-label={label}
      title={label}
    >
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  );
}

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly error?: string | undefined;
  /** The label is only read out. */
  readonly labelHidden?: boolean;
}

function Wrapped({
  id,
  label,
  hint,
  error,
  labelHidden = false,
  children,
}: FieldProps & { readonly id: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <div class="field">
      <label for={id} class={labelHidden ? 'hidden-text' : 'field-label'}>
        {label}
      </label>
      {children}
      {hint !== undefined && (
        <p id={`${id}-hint`} class="field-hint">
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p id={`${id}-error`} class="field-error">
          <Icon name="error" size={14} /> {error}
        </p>
      )}
    </div>
  );
}

function described(id: string, { hint, error }: FieldProps): string | undefined {
  const ids = [hint === undefined ? '' : `${id}-hint`, error === undefined ? '' : `${id}-error`].filter(Boolean);
  return ids.length === 0 ? undefined : ids.join(' ');
}

/** One line of text, or several with `rows`. */
export function Field({
  label,
  hint,
  error,
  labelHidden,
  value,
  onValue,
  rows,
  type = 'text',
  ...rest
}: FieldProps & {
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly rows?: number;
  readonly type?: 'text' | 'password' | 'email' | 'number' | 'search' | 'url' | 'datetime-local' | 'date';
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly maxLength?: number;
  readonly autoFocus?: boolean;
  readonly autoComplete?: string;
  readonly spellcheck?: boolean;
  readonly name?: string;
  readonly disabled?: boolean;
  readonly min?: number | string;
  readonly max?: number | string;
  readonly step?: number | string;
}): JSX.Element {
  const id = useId();
  const props = { label, hint, error, ...(labelHidden === undefined ? {} : { labelHidden }) } as FieldProps;
  const common = {
    id,
    value,
    class: 'input',
    'aria-describedby': described(id, props),
    'aria-invalid': error !== undefined,
    onInput: (event: { readonly currentTarget: HTMLInputElement | HTMLTextAreaElement }) =>
      onValue(event.currentTarget.value),
    ...rest,
  };
  return (
    <Wrapped id={id} {...props}>
      {rows === undefined ? (
        <input {...({ type, ...common } as JSX.IntrinsicElements['input'])} />
      ) : (
        <textarea rows={rows} {...common} />
      )}
    </Wrapped>
  );
}

export interface Choice {
  readonly value: string;
  readonly title: string;
}

export function Select({
  label,
  hint,
  error,
  labelHidden,
  value,
  onValue,
  choices,
  disabled = false,
}: FieldProps & {
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly choices: readonly Choice[];
  readonly disabled?: boolean;
}): JSX.Element {
  const id = useId();
  const props = { label, hint, error, ...(labelHidden === undefined ? {} : { labelHidden }) } as FieldProps;
  return (
    <Wrapped id={id} {...props}>
      <select
        id={id}
        class="input"
        value={value}
        disabled={disabled}
        aria-describedby={described(id, props)}
        aria-invalid={error !== undefined}
        onChange={(event) => onValue(event.currentTarget.value)}
      >
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.title}
          </option>
        ))}
      </select>
    </Wrapped>
  );
}

/** A switch with its words beside it. */
export function Switch({
  label,
  isOn,
  onChange,
  disabled = false,
}: {
  readonly label: string;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
  readonly disabled?: boolean;
}): JSX.Element {
  return (
    <button
      type="button"
      role="switch"
      class="switch"
      aria-checked={isOn}
      disabled={disabled}
      onClick={() => onChange(!isOn)}
    >
      <span class="switch-track" aria-hidden="true">
        <span class="switch-knob" />
      </span>
      {label}
    </button>
  );
}
