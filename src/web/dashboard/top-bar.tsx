import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { toFault } from './api.ts';
import { Button } from './components/fields.tsx';
import { Icon } from './components/icon.tsx';
import { toast } from './components/toast.tsx';
import { formatTime } from './format.ts';
import { now } from './now.ts';
import { isPartial } from './partial.ts';
import { live } from './poller.ts';
import { session } from './session.ts';
import { signOut } from './sign-in.tsx';
import { setTheme, type Theme, theme, THEMES } from './theme.ts';
import { useLink } from './url-state.ts';
import { type RangeId, RANGES, useRange } from './use-range.ts';
import { useModule } from './use-module.ts';
import { HASH_FORM, REQUEST_ID_FORM } from './value-forms.ts';
import { visibleText } from './visible-text.ts';

export function TopBar({ hasRange, onHelp }: { readonly hasRange: boolean; readonly onHelp: () => void }): JSX.Element {
  const state = session.value;
  const customer = state.kind === 'signed_in' ? state.session : null;
  return (
    <header class="top-bar">
      <div
        class="top-customer"
        title={customer === null ? undefined : `Signed in with ${visibleText(customer.key_prefix)}…`}
      >
        <span class="top-customer-name">{visibleText(customer?.name ?? '')}</span>
        {customer?.key_prefix.startsWith('sk_test_') === true && (
          <span class="tag" title="What test keys have made, apart from the live data">
            test data
          </span>
        )}
        {customer?.read_only === true && <span class="tag">read only</span>}
        {isPartial.value && (
          <span
            class="tag"
            role="status"
            title="A node of the cluster does not answer: what it decided is missing here"
          >
            partial
          </span>
        )}
      </div>
      <SearchBox />
      <div class="top-tools">
        {hasRange && <RangePicker />}
        <LiveSwitch />
        <ThemeButton />
        <Button kind="quiet" icon="help" label="Keys (?)" onClick={onHelp} />
        <Button kind="quiet" icon="out" label="Sign out" onClick={endSession} />
      </div>
    </header>
  );
}

/** Signs out of this browser; a failure is a toast. */
export function endSession(): void {
  void signOut().catch((error: unknown) => toast(toFault(error).title));
}

/** An id opens its decision, a fingerprint its links; everything else is a search of the decisions. */
function SearchBox(): JSX.Element {
  const [text, setText] = useState('');
  const { route } = useLocation();
  const link = useLink();
  const open = (): void => {
    const q = text.trim();
    if (q === '') return;
    if (REQUEST_ID_FORM.test(q)) route(`/dashboard/decisions/${q}`);
    else if (HASH_FORM.test(q)) route(`/dashboard/links/fingerprint/${q.toLowerCase()}`);
    else route(link('/dashboard/decisions', { q }));
    setText('');
  };
  return (
    <form
      class="search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        open();
      }}
    >
      <Icon name="search" size={14} />
      <input
        id="search"
        class="search-input"
        type="search"
        aria-label="Search decisions"
        placeholder="Search: id, e-mail, ip:, user:, reason:, score>70"
        value={text}
        maxLength={200}
        autoComplete="off"
        spellcheck={false}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') event.currentTarget.blur();
        }}
      />
      <kbd class="search-key" aria-hidden="true">
        /
      </kbd>
    </form>
  );
}

function RangePicker(): JSX.Element {
  const { range, set, zoom } = useRange();
  const [isCustom, setCustom] = useState(false);
  const custom = useModule(isCustom, () => import('./custom-range.tsx'));
  return (
    <>
      <label class="range">
        <Icon name="clock" size={14} />
        <span class="hidden-text">Range of time</span>
        <select
          id="range"
          value={range.id}
          onChange={(event) => {
            const id = event.currentTarget.value as RangeId | 'choose';
            if (id === 'choose') {
              event.currentTarget.value = range.id;
              setCustom(true);
            } else set(id);
          }}
        >
          {RANGES.map(({ id, title }) => (
            <option key={id} value={id}>
              Last {title}
            </option>
          ))}
          {range.id === 'custom' && (
            <option value="custom">
              {formatTime(range.from, now.peek())} – {formatTime(range.to, now.peek())}
            </option>
          )}
          <option value="choose">Custom…</option>
        </select>
      </label>
      {isCustom && custom !== null && (
        <custom.CustomRange
          from={range.from}
          to={range.to}
          onClose={() => setCustom(false)}
          onChoose={(from, to) => {
            setCustom(false);
            zoom(from, to);
          }}
        />
      )}
    </>
  );
}

function LiveSwitch(): JSX.Element {
  return (
    <button
      type="button"
      role="switch"
      class="live-switch"
      aria-checked={live.value}
      title="Live (.)"
      onClick={() => void (live.value = !live.peek())}
    >
      <span class="live-dot" aria-hidden="true" />
      <span class="live-word">Live</span>
    </button>
  );
}

const THEME_ICONS = { system: 'system', light: 'sun', dark: 'moon' } as const satisfies Record<Theme, string>;
const THEME_WORDS: Readonly<Record<Theme, string>> = { system: 'as the system', light: 'light', dark: 'dark' };

function ThemeButton(): JSX.Element {
  const next = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'system';
  return (
    <Button
      kind="quiet"
      icon={THEME_ICONS[theme.value]}
      label={`Theme: ${THEME_WORDS[theme.value]}. Change to ${THEME_WORDS[next]}`}
      onClick={() => setTheme(next)}
    />
  );
}
