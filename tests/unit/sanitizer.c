/*
 * What the sanitizers are told in unit tests, wherever they are run from. It is in the program, as
 * ctest gives a discovered test the first variable of its environment only.
 */
const char *__asan_default_options(void);
const char *__tsan_default_suppressions(void);

const char *__asan_default_options(void)
{
	return "detect_stack_use_after_return=1";
}

/*
 * liburing maps its rings by system calls that the sanitizer does not see: a ring that lies where
 * another thread has unmapped one looks shared.
 */
const char *__tsan_default_suppressions(void)
{
	return "race:liburing.h\nrace:io/dio_uring.c\n";
}
