// A folder for one test, and short ways to write, open and load containers in it.
#ifndef GNN_UNIT_CONTAINER_FIXTURE_H
#define GNN_UNIT_CONTAINER_FIXTURE_H

#include "base/fault.h"
#include "base/mem.h"
#include "io/container.h"
#include "io/store_schema.h"
#include "io/stream.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

struct Array {
	std::string name;
	enum gnn_dtype dtype;
	uint32_t rank;
	uint64_t rows, cols;
	std::vector<char> data;
};

struct ContainerFixture : ::testing::Test {
	std::filesystem::path dir;
	std::string path;
	std::string format = GNN_FORMAT_STORE;
	struct gnn_container *writing = nullptr, *container = nullptr;
	std::vector<struct gnn_attr> attrs = {{GNN_ATTR_VERTICES, nullptr, 7, nullptr},
		{GNN_ATTR_EDGES, nullptr, 9, nullptr}, {GNN_ATTR_ORDER, "taurus", 0, nullptr}};

	/* A disk by default, for the sake of direct I/O. */
	virtual std::filesystem::path base() const
	{
		return std::filesystem::temp_directory_path();
	}

	void SetUp() override
	{
		std::string name = (base() / "gnnrun-test-XXXXXX").string();
		ASSERT_NE(mkdtemp(name.data()), nullptr);
		dir = name;
		path = dir / "c.h5";
	}

	void TearDown() override
	{
		gnn_fault_clear();
		gnn_container_close(writing);
		gnn_container_close(container);
		std::filesystem::remove_all(dir);
	}

	/* Bytes that differ from place to place, with a period that no block size shares. */
	static std::vector<char> pattern(uint64_t bytes)
	{
		std::vector<char> data(bytes);
		uint32_t x = static_cast<uint32_t>(bytes) | 1;

		for (char &c : data) {
			x = x * 1664525u + 1013904223u;
			c = static_cast<char>(x >> 24);
		}
		return data;
	}

	static std::vector<char> bytes_of(const std::string &file)
	{
		std::ifstream in(file, std::ios::binary);

		return {std::istreambuf_iterator<char>(in), {}};
	}

	static void put_bytes(const std::string &file, const std::vector<char> &bytes)
	{
		std::ofstream(file, std::ios::binary | std::ios::trunc)
			.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
	}

	struct gnn_container_opts options() const
	{
		return {path.c_str(), format.c_str(), GNN_DIO_AUTO, 0, 0};
	}

	int create(const std::vector<Array> &arrays)
	{
		const struct gnn_container_opts o = options();
		std::vector<struct gnn_array> shapes;

		for (const Array &a : arrays) {
			struct gnn_array shape = {};
			snprintf(shape.name, sizeof(shape.name), "%s", a.name.c_str());
			shape.dtype = a.dtype;
			shape.rank = a.rank;
			shape.rows = a.rows;
			shape.cols = a.cols;
			shapes.push_back(shape);
		}
		return gnn_container_create(&writing, &o, shapes.data(),
			static_cast<uint32_t>(shapes.size()), attrs.data(),
			static_cast<uint32_t>(attrs.size()));
	}

	void begin(const std::vector<Array> &arrays)
	{
		ASSERT_EQ(create(arrays), GNN_OK) << gnn_err_text();
	}

	int write_array(const std::string &name, const std::vector<char> &data, uint64_t step,
		uint64_t first_byte)
	{
		struct gnn_array_writer *w;
		int rc = gnn_array_writer_open(&w, writing, name.c_str(), first_byte);

		for (uint64_t at = 0; rc == GNN_OK && at < data.size(); at += step)
			rc = gnn_array_writer_push(
				w, data.data() + at, std::min<uint64_t>(step, data.size() - at));
		if (rc == GNN_OK)
			return gnn_array_writer_close(&w);
		gnn_array_writer_abort(w);
		return rc;
	}

	void push(const std::string &name, const std::vector<char> &data, uint64_t step = 1 << 20,
		uint64_t first_byte = 0)
	{
		ASSERT_EQ(write_array(name, data, step, first_byte), GNN_OK) << gnn_err_text();
	}

	/* Creates, writes and commits. */
	int write(const std::vector<Array> &arrays)
	{
		int rc = create(arrays);

		for (const Array &a : arrays)
			if (rc == GNN_OK)
				rc = write_array(a.name, a.data, 1 << 20, 0);
		if (rc == GNN_OK)
			return gnn_container_commit(&writing);
		gnn_container_close(writing);
		writing = nullptr;
		return rc;
	}

	void open()
	{
		const struct gnn_container_opts o = options();

		gnn_container_close(container);
		ASSERT_EQ(gnn_container_open(&container, &o), GNN_OK) << gnn_err_text();
	}

	std::vector<char> load(const struct gnn_array &a)
	{
		std::vector<char> data(a.bytes);

		EXPECT_EQ(gnn_array_load(container, &a, 0, a.bytes, data.data()), GNN_OK)
			<< gnn_err_text();
		return data;
	}
};

#endif
