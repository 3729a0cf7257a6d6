/* { "does": "asyncRequest does not work in the init code", "load_error": "requests do not work in the init code", "exit": 107 } */
import http from 'k6/http';
http.asyncRequest('GET', 'http://h.test/get');
export default function () {}
