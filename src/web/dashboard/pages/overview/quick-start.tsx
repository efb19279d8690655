import type { ComponentChildren, JSX } from 'preact';
import { Copy } from '../../components/copy.tsx';
import { Icon } from '../../components/icon.tsx';
import { Section } from '../../components/pane.tsx';
import { session } from '../../session.ts';
import { visibleText } from '../../visible-text.ts';
import { Button } from '../../components/fields.tsx';
import type { Steps } from './use-steps.ts';

const EXAMPLE =
  '{"event_type":"login","session_token":"my-first-session","ip":"81.2.69.160","user_agent":"curl/8.14.1",' +
  '"entity_keys":{"email":"anna@example.com"}}';

/** The empty state of the overview: what to do first, with the commands, each ticked as soon as it worked. */
export function QuickStart({ steps }: { readonly steps: Steps }): JSX.Element {
  const state = session.value;
  const prefix = state.kind === 'signed_in' ? state.session.key_prefix : 'sk_live_';
  const decide = `echo '${EXAMPLE}' |\n  npx gatehouse decide --key ${prefix}… --url ${location.origin} --file -`;
  const collector = `<script src="${location.origin}/v1/collector.js" data-key="pk_live_…" async></script>`;
  const done = [steps.hasDecision, steps.hasToken, steps.hasEntry, steps.hasWebhook].filter(Boolean).length;
  return (
    <div class="stack quick-start">
      <Section
        title="Quick start"
        note={`${done} of 4 done; checked every 3 s`}
        actions={steps.hasDecision ? <Button onClick={steps.hide}>Show the overview</Button> : undefined}
      >
        <ol class="steps">
          <Step title="Ask for the first decision" isDone={steps.hasDecision}>
            <p>
              In a terminal, from the folder of Gatehouse. Your key begins with <code>{visibleText(prefix)}</code>; put
              the whole key there. <a href="/dashboard/try">Try it</a> builds and signs other requests.
            </p>
            <Command title="Command that asks for a decision" text={decide} />
          </Step>
          <Step title="Send the first collector token" isDone={steps.hasToken}>
            <p>
              The collector runs in the browser of a visitor. Its token goes to your backend, which sends it as{' '}
              <code>session_token</code>. Your public key is on <a href="/dashboard/keys">Keys &amp; health</a>.
            </p>
            <Command title="Script tag of the collector" text={collector} />
          </Step>
          <Step title="Put a fingerprint on a list" isDone={steps.hasEntry}>
            <p>
              Your own device, for example, as <em>allow</em>: on the page of a decision, or on{' '}
              <a href="/dashboard/lists">Lists</a>.
            </p>
          </Step>
          <Step title="Send decisions to your backend" isDone={steps.hasWebhook}>
            <p>
              Add an endpoint on <a href="/dashboard/webhooks">Webhooks</a>. Each delivery is signed.
            </p>
          </Step>
        </ol>
      </Section>
    </div>
  );
}

function Step({
  title,
  isDone,
  children,
}: {
  readonly title: string;
  readonly isDone: boolean;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <li class={isDone ? 'step step-done' : 'step'}>
      <span class="step-mark">{isDone ? <Icon name="check" size={14} /> : null}</span>
      <div class="step-body">
        <h3>
          {title} <span class="hidden-text">{isDone ? '(done)' : '(not done yet)'}</span>
        </h3>
        {children}
      </div>
    </li>
  );
}

function Command({ title, text }: { readonly title: string; readonly text: string }): JSX.Element {
  return (
    <div class="command">
      {/* A region that scrolls is reachable by the keyboard. */}
      <pre tabIndex={0} role="region" aria-label={title}>
        {text}
      </pre>
      <Copy text={text} what={title.startsWith('Script') ? 'the script tag' : 'the command'} />
    </div>
  );
}
