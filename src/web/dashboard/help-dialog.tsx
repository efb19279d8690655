import type { JSX } from 'preact';
import { Dialog } from './components/dialog.tsx';
import { Switch } from './components/fields.tsx';
import { keyGroups, switchKeys } from './keyboard.ts';

/** The keys that work on the present page, and the switch that turns all of them off. */
export function HelpDialog({ onClose, isOn }: { readonly onClose: () => void; readonly isOn: boolean }): JSX.Element {
  return (
    <Dialog title="Keys" onClose={onClose} wide>
      <Switch label="Use single keys" isOn={isOn} onChange={switchKeys} />
      <div class="key-groups">
        {keyGroups.value.map(({ title, bindings }) => (
          <section key={`${title} ${bindings[0]?.keys ?? ''}`}>
            <h3>{title}</h3>
            <dl class="key-list">
              {bindings
                .filter(({ hidden }) => hidden !== true)
                .map(({ keys, does }) => (
                  <div key={keys}>
                    <dt>
                      {keys.split(' ').map((key) => (
                        <kbd key={key}>{key === 'Escape' ? 'Esc' : key}</kbd>
                      ))}
                    </dt>
                    <dd>{does}</dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
