/* { "does": "what is not there yet keeps a script from loading if its init code uses it", "k6": "k6 has it", "load_error": "crypto.subtle.generateKey() is not there yet", "exit": 107 } */
crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, true, ['encrypt']);
export default function () {}
