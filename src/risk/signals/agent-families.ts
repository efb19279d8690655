export type BrowserFamily = 'chromium' | 'firefox' | 'safari' | 'other';
export type SystemFamily = 'windows' | 'macos' | 'linux' | 'android' | 'ios' | 'chromeos' | 'other';
