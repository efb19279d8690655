<?php
// Stubs of the classes that the middleware uses, with the names and signatures of Laravel 10 to 12. One case an argument: url|key|mode|password.

namespace Symfony\Component\HttpFoundation {
    class Response
    {
        public function __construct(public string $content = '', private int $status = 200)
        {
        }
        public function getStatusCode(): int
        {
            return $this->status;
        }
    }
    class ParameterBag
    {
        private array $values = [];
        public function get(string $name, mixed $default = null): mixed
        {
            return $this->values[$name] ?? $default;
        }
        public function set(string $name, mixed $value): void
        {
            $this->values[$name] = $value;
        }
    }
}

namespace Illuminate\Http {
    class Request
    {
        public \Symfony\Component\HttpFoundation\ParameterBag $attributes;
        public ?object $user = null;
        public function __construct(private array $form)
        {
            $this->attributes = new \Symfony\Component\HttpFoundation\ParameterBag();
        }
        public function ip(): ?string
        {
            return '81.2.69.160';
        }
        public function userAgent(): ?string
        {
            return 'Mozilla/5.0';
        }
        public function url(): string
        {
            return 'https://shop.example/login';
        }
        public function input(string $key, mixed $default = null): mixed
        {
            return $this->form[$key] ?? $default;
        }
        public function header(string $key): ?string
        {
            return $key === 'Accept' ? 'text/html' : null;
        }
        public function session(): object
        {
            return new class {
                public function getId(): string
                {
                    return 'session';
                }
            };
        }
        public function user(): ?object
        {
            return $this->user;
        }
    }
}

namespace {
    require __DIR__ . '/gatehouse.php';
    require __DIR__ . '/ProtectWithGatehouse.php';

    foreach (array_slice($argv, 1) as $case) {
        [$url, $key, $mode, $password] = explode('|', $case);
        $middleware = new App\Http\Middleware\ProtectWithGatehouse(new Gatehouse\Gatehouse($url, $key));
        $request = new Illuminate\Http\Request(['email' => 'anna@example.com', 'password' => $password]);
        $login = function ($request) use ($password) {
            $request->user = $password === 'right' ? new stdClass() : null;
            return new Symfony\Component\HttpFoundation\Response('', 302);
        };
        $response = $middleware->handle($request, $login, 'login', 'email', $mode);
        echo $response->getStatusCode(), "\n";
        $middleware->terminate($request, $response);
    }
}
